import { it } from '@jest/globals';
import fc from 'fast-check';
import { damage, withDamage } from '../support/damage.js';
import { inTimeFor } from '../support/fast-check.js';

/** Set by `npm run fuzz`: see CONTRIBUTING.md. */
const { FUZZ_MINUTES: minutes, FUZZ_SEED: seed = '1', FUZZ_PATH: path } = process.env;
/** Runs of each property in `npm test`. */
const RUNS = 200;
/** Milliseconds: a safety net in `npm test`, and time to find the smallest failure. */
const LIMIT = 180_000;

/**
 * States that a property of a parser holds: `check` throws or rejects nothing. In `npm test` with few runs, which are the same each
 * time; by `npm run fuzz` with others, for as long as is wanted.
 */
export function holds<T>(
  what: string,
  values: fc.Arbitrary<T>,
  check: (value: T) => void | Promise<void>,
): void {
  const longer = minutes === undefined ? undefined : Number(minutes) * 60_000;
  const parameters: fc.Parameters<[T]> = {
    seed: Number(seed),
    ...(path !== undefined && { path }),
    ...(longer === undefined
      ? { numRuns: RUNS, ...inTimeFor(LIMIT) }
      : { numRuns: 2 ** 31 - 1, interruptAfterTimeLimit: longer, markInterruptAsFailure: false }),
  };
  const property = fc.asyncProperty(values, async (value) => check(value));
  it(what, () => fc.assert(property, parameters), LIMIT + (longer ?? 0));
}

const anything = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1'));

/** Bytes as a text in latin1: those of a writer, with up to three damages, or any at all. */
export function damaged(valid: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const some = fc
    .tuple(valid, fc.array(damage, { maxLength: 3 }))
    .map(([bytes, damages]) => damages.reduce(withDamage, bytes));
  return fc.oneof({ weight: 4, arbitrary: some }, { weight: 1, arbitrary: anything });
}

/** Where bytes are cut, in parts of their length. */
export const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });

/** The same bytes, in pieces of their own memory. */
export function inPieces(bytes: string, at: readonly number[]): Buffer[] {
  const ends = [...at.map((part) => Math.floor(part * bytes.length)), bytes.length].toSorted((a, b) => a - b);
  return ends.map((end, i) => Buffer.from(bytes.slice(ends[i - 1] ?? 0, end), 'latin1'));
}

/** The error that `action` throws, or undefined. */
export function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
