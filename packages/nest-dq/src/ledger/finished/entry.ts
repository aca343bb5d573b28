import { isShaped } from '../foreign-json.js';
import { PROGRESS } from '../records/progress.js';
import type { FinishedRun, RunProgress } from '../requests.js';

/** How a left-out result is written. */
const LEFT_OUT = ['too long', 'not JSON'] as const;
/** Longest entry that is read, in characters. We write some 2,000 at most: a key of 250 bytes, a result of 1,000, and a note of 200. */
export const LONGEST_ENTRY = 20_000;

/**
 * Packs a finished run as it is stored in Redis: a JSON list of took, attempt, process, key or null, then the result, in a list of
 * its own, or why there is none, or null, of a job with a key the generation of its add or null, and the progress. What is absent
 * at the end is left out. It has no names, since there may be millions.
 */
export function packEntry({
  took,
  attempt,
  process,
  key,
  born,
  result,
  leftOut,
  progress,
}: FinishedRun): string {
  const head = JSON.stringify([took, attempt, process, key ?? null]).slice(0, -1);
  const more =
    leftOut !== undefined ? JSON.stringify(leftOut) : result !== undefined ? `[${result}]` : 'null';
  if (progress) return `${head},${more},${born ?? null},${JSON.stringify(progress)}]`;
  if (born !== undefined) return `${head},${more},${born}]`;
  return more === 'null' ? `${head}]` : `${head},${more}]`;
}

/** Parses an entry; undefined if nest-dq hasn't written it. */
export function readEntry(text: string): FinishedRun | undefined {
  const [took, attempt, process, key, more, born, progress] = listIn(text);
  if (!isCount(took) || !isCount(attempt) || typeof process !== 'string') return undefined;
  if (key !== null && typeof key !== 'string') return undefined;
  const leftOut = LEFT_OUT.find((each) => each === more);
  return {
    took,
    attempt,
    process,
    ...(key !== null && { key }),
    ...(isCount(born) && { born }),
    ...(leftOut !== undefined && { leftOut }),
    ...(Array.isArray(more) && more.length === 1 && { result: JSON.stringify(more[0]) }),
    ...(isShaped(progress, PROGRESS) && { progress: progress as RunProgress }),
  };
}

function listIn(text: string): readonly unknown[] {
  if (text.length > LONGEST_ENTRY) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return []; // not ours
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
