import type { Disturbance } from './disturbance.js';

/** Settings of a measure. */
export interface Settings {
  /** How often each contender runs: the number of the user, or else the usual one of the measure. */
  readonly rounds: (usual: number) => number;
  /** Chooses `quick` for `--quick`. */
  readonly pick: <T>(full: T, quick: T) => T;
}

export type Unit =
  | 'jobs/s'
  | 'ms'
  | 's'
  | 'µs/job'
  | 'bytes'
  | 'bytes/job'
  | 'jobs'
  | '%'
  | 'a job'
  | 'connections'
  | 'answers'
  | 'messages/s'
  | 'µs/message';

/** The values of all rounds. */
export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The limits for our figure, or for its ratio to the other figure. */
export interface Target {
  readonly of: 'ours' | 'ratio';
  readonly least?: number;
  readonly most?: number;
}

export interface Row {
  readonly what: string;
  readonly unit: Unit;
  readonly ours: Figure;
  /** The figure that ours is compared with: that of BullMQ, unless `name` is another one. */
  readonly beside?: { readonly name: string } & Figure;
  /** Our median divided by the other median. */
  readonly ratio?: number;
  readonly target?: Target;
  readonly met?: boolean;
  /** Disturbance of the machine while the rounds of this row ran. */
  readonly disturbance: Disturbance;
}

/** One question about speed, lateness or memory. Some rows of the table answer it. */
export interface Measure {
  readonly name: string;
  /** Name of the contender in the first column. @default 'nest-dq' */
  readonly ours?: string;
  /** Description, for people, of what is measured and how. */
  readonly title: string;
  /** Starts and stops its own servers. Rejects if a round is not valid, because a job was lost or ran twice. */
  readonly run: (settings: Settings) => Promise<readonly Row[]>;
}

export interface Result {
  readonly measure: string;
  /** Name of the contender in the first column. */
  readonly ours: string;
  readonly title: string;
  /** Description, for people, of the machine and of whatever else the figures depend on. */
  readonly machine: string;
  /** How long it took, in seconds. */
  readonly took: number;
  /** How many runs it is the median of, each with all its rounds. @default 1 */
  readonly runs?: number;
  readonly rows: readonly Row[];
}
