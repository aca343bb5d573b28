import type { LedgerSettings } from '../ledger.js';
import type { RunRef } from '../requests.js';
import type { ThreadSource } from './thread-source.js';

/** A run whose lease the thread may have to renew. */
export interface RunLease extends RunRef {
  /** Time after which the lease is no longer renewed, in ms; Infinity for no limit. */
  readonly timeout: number;
}

/** Runs in a message between threads. Two values for all runs cost half as much as a list of all values. */
interface PackedRuns {
  /** As written by `packIds`. */
  readonly ids: string;
  /** The `NUMBERS` of each run. */
  readonly numbers: Float64Array;
  /** The permit of each run; absent if none has one. */
  readonly permits?: readonly (string | undefined)[];
}

/** The numbers of a run, in the order in which a message has them. */
const NUMBERS = ['generation', 'born', 'due', 'fence', 'attempt', 'lastOk', 'timeout'] as const;
/** Occurs in no id: see `isJobId`. */
const SEPARATOR = ' ';
const NOTHING: PackedRuns = { ids: '', numbers: new Float64Array() };

export function packIds(ids: readonly string[]): string {
  return ids.join(SEPARATOR);
}

export function unpackIds(text: string): string[] {
  return text === '' ? [] : text.split(SEPARATOR);
}

export function packRuns(runs: readonly RunLease[]): PackedRuns {
  if (runs.length === 0) return NOTHING;
  const ids: string[] = [];
  const numbers = new Float64Array(NUMBERS.length * runs.length);
  const permits: (string | undefined)[] = [];
  let limited = false;
  let at = 0;
  for (const run of runs) {
    ids.push(run.id);
    for (const name of NUMBERS) numbers[at++] = run[name];
    permits.push(run.permit);
    limited ||= run.permit !== undefined;
  }
  const packed = { ids: packIds(ids), numbers };
  return limited ? { ...packed, permits } : packed;
}

export function unpackRuns({ ids, numbers, permits }: PackedRuns): RunLease[] {
  let at = 0;
  return unpackIds(ids).map((id, i) => {
    const ofRun = NUMBERS.map((name) => [name, numbers[at++]]);
    const values = Object.fromEntries(ofRun) as Record<(typeof NUMBERS)[number], number>;
    return { id, ...values, permit: permits?.[i] };
  });
}

/** A message of the main thread about one tube. The thread handles the parts in this order. */
export interface LeaseMessage {
  readonly tube: string;
  /** Jobs whose run ended or lost its lease, as written by `packIds`. */
  readonly over: string;
  /** Granted runs, which replace earlier runs of the same jobs. */
  readonly granted: PackedRuns;
  /** Whether the main thread is renewing all runs of the tube right now. */
  readonly beat: boolean;
}

/** Data passed to the thread at its start. */
export interface LeaseWorkerData {
  readonly source: ThreadSource;
  readonly settings: LedgerSettings;
  /** The prefix of every tube's name. */
  readonly prefix: string;
}
