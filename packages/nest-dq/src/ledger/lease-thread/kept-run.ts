import type { LedgerSettings } from '../ledger.js';
import type { RunRef } from '../requests.js';
import type { ThreadSource } from './thread-source.js';

/** A run whose lease the thread is to keep. */
export interface KeptRun extends RunRef {
  /** Milliseconds. After so long nobody wants the run any more; Infinity for no limit. */
  readonly timeout: number;
}

/** Runs as they go between threads: two values for any number of them cost half of what a list of all values does. */
export interface PackedRuns {
  /** As `packIds` writes them. */
  readonly ids: string;
  /** `NUMBERS` for each. */
  readonly numbers: Float64Array;
}

const NUMBERS = 7;
/** Is in no id: see `isJobId`. */
const SEPARATOR = ' ';
const NOTHING: PackedRuns = { ids: '', numbers: new Float64Array() };

export function packIds(ids: readonly string[]): string {
  return ids.join(SEPARATOR);
}

export function unpackIds(text: string): string[] {
  return text === '' ? [] : text.split(SEPARATOR);
}

export function packRuns(runs: readonly KeptRun[]): PackedRuns {
  if (runs.length === 0) return NOTHING;
  const numbers = new Float64Array(NUMBERS * runs.length);
  let at = 0;
  for (const { generation, born, due, fence, attempt, lastOk, timeout } of runs) {
    numbers[at++] = generation;
    numbers[at++] = born;
    numbers[at++] = due;
    numbers[at++] = fence;
    numbers[at++] = attempt;
    numbers[at++] = lastOk;
    numbers[at++] = timeout;
  }
  return { ids: packIds(runs.map(({ id }) => id)), numbers };
}

export function unpackRuns({ ids, numbers }: PackedRuns): KeptRun[] {
  let at = 0;
  const next = () => numbers[at++]!;
  return unpackIds(ids).map((id) => ({
    id,
    generation: next(),
    born: next(),
    due: next(),
    fence: next(),
    attempt: next(),
    lastOk: next(),
    timeout: next(),
  }));
}

/** What the main thread tells of one tube. It is taken in this order. */
export interface KeeperMessage {
  readonly tube: string;
  /** Jobs whose run came to its end, or lost its lease, as `packIds` writes them. */
  readonly over: string;
  /** They take the place of earlier runs of the same jobs. */
  readonly granted: PackedRuns;
  /** The main thread is renewing all runs of the tube at this moment. */
  readonly beat: boolean;
}

/** What the thread begins with. */
export interface KeeperThreadData {
  readonly source: ThreadSource;
  readonly settings: LedgerSettings;
  /** What every tube's name begins with. */
  readonly prefix: string;
}
