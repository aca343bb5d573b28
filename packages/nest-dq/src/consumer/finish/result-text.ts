import type { FinishedRun } from '../../ledger/requests.js';

/** Longest result kept with a finished job, in characters of JSON. */
const LONGEST = 1_000;

class TooLong extends Error {}

/** The text has at least this many characters more because of a value. */
function leastLength(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  return value === undefined || typeof value === 'function' || typeof value === 'symbol' ? 0 : 1;
}

/** Returns a handler's result in the form a finished job keeps. Never throws, and looks at no more of it than is kept. */
export function resultText(result: unknown): Pick<FinishedRun, 'result' | 'leftOut'> {
  if (result === undefined) return {};
  let length = 0;
  const measured = (_name: string, value: unknown): unknown => {
    length += leastLength(value);
    if (length > LONGEST) throw new TooLong();
    return value;
  };
  try {
    // Undefined for a function, of which there is nothing to keep.
    const text = JSON.stringify(result, measured) as string | undefined;
    if (text === undefined) return {};
    return text.length > LONGEST ? { leftOut: 'too long' } : { result: text };
  } catch (thrown) {
    return { leftOut: thrown instanceof TooLong ? 'too long' : 'not JSON' };
  }
}
