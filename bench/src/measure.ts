import type { Disturbance } from './disturbance.js';

/** What a measure is given. */
export interface Settings {
  /** How often each contender runs; a measure has its own number unless the user gave one. */
  readonly rounds: (usual: number) => number;
  /** One or the other, by whether a quick look is all that is wanted. */
  readonly pick: <T>(full: T, quick: T) => T;
}

export type Unit =
  'jobs/s' | 'ms' | 's' | 'µs/job' | 'bytes' | 'bytes/job' | 'jobs' | '%' | 'a job' | 'connections';

/** The values of all rounds. */
export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** What is asked of ours, or of its ratio to what stands beside it. */
export interface Target {
  readonly of: 'ours' | 'ratio';
  readonly least?: number;
  readonly most?: number;
}

export interface Row {
  readonly what: string;
  readonly unit: Unit;
  readonly ours: Figure;
  /** What ours is compared with: BullMQ, unless it says otherwise. */
  readonly beside?: { readonly name: string } & Figure;
  /** Ours divided by what stands beside it, of the medians. */
  readonly ratio?: number;
  readonly target?: Target;
  readonly met?: boolean;
}

/** One line of the user's question, answered by some rows of the table. */
export interface Measure {
  readonly name: string;
  /** What is measured and how, for people. */
  readonly title: string;
  /** Starts its own servers and leaves nothing behind. Rejects when a run is no valid one: a job lost, or run twice. */
  readonly run: (settings: Settings) => Promise<readonly Row[]>;
}

export interface Result extends Disturbance {
  readonly measure: string;
  readonly title: string;
  readonly rows: readonly Row[];
}
