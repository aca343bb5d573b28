// What the server sends, until its own types are there.
import type { DeadLetter as Letter } from '../../src/api/dead-letter.js';
import type { AsJson } from '../../src/api/tube.js';
import type { OperatedOn } from '../../src/events/events.js';
import type { DqHealthState } from '../../src/health/health.js';
import type { LedgerView } from '../../src/ledger/ledger-view.js';
import type { Explanation } from '../../src/operate/explanation.js';
import type { HistoryBucket } from '../../src/operate/history-view.js';
import type { NodeView } from '../../src/operate/node-view.js';
import type { ProcessView } from '../../src/operate/processes.js';
import type { SeriesView } from '../../src/operate/series-view.js';
import type { TubeList } from '../../src/operate/tube-view.js';
import type { JobPage, TimelineBucket } from '../../src/operate/waiting-view.js';

export type Explained = AsJson<Explanation>;
export type Minute = AsJson<HistoryBucket>;
export type Node = AsJson<NodeView>;
export type Process = AsJson<ProcessView>;
export type Series = AsJson<SeriesView>;
export type Tubes = AsJson<TubeList>;
export type Tube = Tubes['tubes'][number];
export type Jobs = AsJson<JobPage>;
export type Job = Jobs['jobs'][number];
export type Bucket = AsJson<TimelineBucket>;
export type Ledger = AsJson<LedgerView>;
export type Health = AsJson<DqHealthState>;
export type DeadLetter = AsJson<Omit<Letter, 'payload'>>;
export interface DeadPage {
  readonly letters: readonly DeadLetter[];
  readonly cursor?: string;
}
export interface Timeline {
  readonly tubes: readonly { readonly tube: string; readonly buckets: readonly Bucket[] }[];
  readonly others: number;
}
export interface Act {
  readonly at?: string;
  readonly by: string;
  readonly act: string;
  readonly on: AsJson<OperatedOn>;
  readonly count: number;
  readonly error?: { readonly code?: string; readonly message: string };
}
export type ActName =
  | 'pause'
  | 'resume'
  | 'runNow'
  | 'reschedule'
  | 'revoke'
  | 'revive'
  | 'discard'
  | 'drainNode'
  | 'undrainNode'
  | 'trigger'
  | 'revokeMany'
  | 'rescheduleMany'
  | 'reviveMany'
  | 'discardMany'
  | 'repair';
export interface Session {
  readonly version: string;
  readonly now: string;
  readonly acts: readonly ActName[];
  readonly payloads: boolean;
  readonly prefix: string;
}
export interface Live {
  readonly now: string;
  readonly tubes: Tubes | null;
  readonly nodes: readonly Node[] | null;
  readonly ledger: Ledger | null;
  readonly processes: readonly Process[] | null;
  readonly health: Health | null;
  readonly errors?: Readonly<Record<string, string>>;
}
export interface Progress {
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures?: readonly { readonly id: string; readonly error: { readonly message: string } }[];
}
