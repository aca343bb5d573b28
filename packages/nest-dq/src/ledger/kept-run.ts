import type { LedgerSettings, RunRef } from './ledger.js';
import type { ThreadSource } from './thread-source.js';

/** A run whose lease the thread is to keep. */
export interface KeptRun extends RunRef {
  /** Milliseconds. After so long nobody wants the run any more; Infinity for no limit. */
  readonly timeout: number;
}

/** Runs, eight values each: between threads an object costs three times as much as its values. */
export type PackedRuns = readonly (string | number)[];
const VALUES = 8;

export function packRuns(runs: readonly KeptRun[]): PackedRuns {
  const values: (string | number)[] = [];
  for (const { id, generation, born, due, fence, attempt, lastOk, timeout } of runs) {
    values.push(id, generation, born, due, fence, attempt, lastOk, timeout);
  }
  return values;
}

export function unpackRuns(values: PackedRuns): KeptRun[] {
  const runs: KeptRun[] = [];
  for (let at = 0; at < values.length; at += VALUES) {
    const id = values[at] as string;
    const numbers = values.slice(at + 1, at + VALUES) as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const [generation, born, due, fence, attempt, lastOk, timeout] = numbers;
    runs.push({ id, generation, born, due, fence, attempt, lastOk, timeout });
  }
  return runs;
}

/** What the main thread tells of one tube. It is taken in this order. */
export interface KeeperMessage {
  readonly tube: string;
  /** Jobs whose run came to its end, or lost its lease. */
  readonly over: readonly string[];
  /** They take the place of earlier runs of the same jobs. */
  readonly granted: PackedRuns;
  /** The main thread is renewing all runs of the tube at this moment. */
  readonly beat: boolean;
}

/** What the thread begins with. */
export interface KeeperThreadData {
  readonly source: ThreadSource;
  readonly settings: LedgerSettings;
}
