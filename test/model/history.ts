import type { Clock } from 'nest-handlers/time';
import type { ClaimRequest, CompleteAnswer, CompleteRequest } from 'nest-dq/src/ledger/requests.js';
import type { JobReceipt } from 'nest-dq/src/api/job.js';
import type { Operation, Step } from './plan.js';

/** One call of the producer, or of the dead letters. All times are ledger time, ms. */
export interface Call {
  readonly number: number;
  readonly operation: Operation;
  readonly process: string;
  readonly began: number;
  /** The id of its job. Undefined until an add has returned it. */
  id?: string;
  /** Undefined for a call by key. */
  born?: number;
  /** The due time that the call asked for. */
  readonly due?: { readonly from: number; readonly exact: boolean };
  /** Undefined if its process died before, or it never ended. */
  ended?: number;
  answer?: unknown;
  error?: Error;
  receipt?: JobReceipt;
}

/** The ledger granted a run. */
export interface Grant {
  readonly at: number;
  readonly process: string;
  readonly request: ClaimRequest;
  readonly fence: number;
  readonly attempt: number;
  readonly due: number;
  /** Undefined if the job never expires. */
  readonly startBy: number | undefined;
}

/** A handler was called. */
export interface Start {
  readonly at: number;
  readonly process: string;
  readonly payload: number;
  readonly step: Step;
  readonly id: string;
  readonly born: number;
  readonly fence: number;
  readonly attempt: number;
  /** The due time of the copy, and that of this run. */
  readonly headerDue: number;
  readonly due: number;
  /** Undefined if its process died, or it still runs. */
  ended?: { readonly at: number; readonly how: Step['end'] | 'aborted' };
}

export interface FinishCall {
  readonly at: number;
  readonly process: string;
  readonly request: CompleteRequest;
  readonly answer: CompleteAnswer;
}

/** A time in which a process could not work as it should. */
export interface Disturbance {
  readonly process: string;
  readonly kind: 'crash' | 'freeze' | 'ledger';
  readonly from: number;
  to: number;
}

/** The ledger lost something. `copies`: the ids of all jobs that had copies or runs then. */
export interface LedgerLoss {
  readonly at: number;
  readonly copies: ReadonlySet<string>;
  /** A node was frozen: puts under way to it are of jobs that nobody can name yet. */
  readonly whileFrozen: boolean;
}

/** The events of a simulation, seen from outside, each with a line of text. */
export class History {
  readonly calls: Call[] = [];
  readonly grants: Grant[] = [];
  readonly starts: Start[] = [];
  readonly finishes: FinishCall[] = [];
  readonly disturbances: Disturbance[] = [];
  readonly losses: LedgerLoss[] = [];
  /** Until then no run may be granted. */
  pausedUntil = 0;
  /** Jobs that had no copy on any node after a node lost copies. */
  readonly robberies: { readonly id: string; readonly at: number }[] = [];
  /** Jobs that were dead in the ledger, with the last time of that. */
  readonly died = new Map<string, number>();
  /** Jobs that expired, with the last time of that. */
  readonly expired = new Map<string, number>();
  /** Events that must not happen in any plan. */
  readonly faults: string[] = [];
  readonly lines: string[] = [];
  private readonly names = new Map<string, string>();

  constructor(private readonly clock: Clock) {}

  /** Ledger time. */
  get now(): number {
    return this.clock.wall();
  }

  log(text: string): void {
    this.lines.push(`${(this.clock.now() / 1_000).toFixed(3).padStart(10)}  ${text}`);
  }

  /** The name of a job in the log. It is the same for each run of a seed, unlike the id. */
  name(id: string): string {
    let name = this.names.get(id);
    if (name === undefined) this.names.set(id, (name = `job${this.names.size}`));
    return name;
  }

  /** The text for a generation: its number is its opening time. */
  generation(generation: number): string {
    return generation === 0 ? 'g0' : `g${this.when(generation)}`;
  }

  /** A ledger time in seconds since the start, as in the lines. */
  when(at: number): string {
    const start = this.clock.wall() - this.clock.now();
    return ((at - start) / 1_000).toFixed(3);
  }

  /** A text of the library, with the names of jobs in place of their ids. */
  named(text: string): string {
    return text.replace(/\S{24,26}/, (id) => this.name(id));
  }
}
