import type { Clock } from 'nest-dq/src/time/clock.js';
import type { ClaimRequest, CompleteAnswer, CompleteRequest } from 'nest-dq/src/ledger/requests.js';
import type { JobReceipt } from 'nest-dq/src/api/job.js';
import type { Operation, Step } from './plan.js';

/** One call of the producer, or of the dead letters. All times are ledger time, ms. */
export interface Call {
  readonly number: number;
  readonly operation: Operation;
  readonly process: string;
  readonly began: number;
  /** The job that it is about; undefined while an add has not told. */
  id?: string;
  /** Undefined by key. */
  born?: number;
  /** When it is to be due, as said. */
  readonly due?: { readonly from: number; readonly exact: boolean };
  /** Undefined: its process died before, or it never ended. */
  ended?: number;
  answer?: unknown;
  error?: Error;
  receipt?: JobReceipt;
}

/** The ledger allowed a run. */
export interface Grant {
  readonly at: number;
  readonly process: string;
  readonly request: ClaimRequest;
  readonly fence: number;
  readonly attempt: number;
  readonly due: number;
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
  /** Of the copy, and of this run. */
  readonly headerDue: number;
  readonly due: number;
  /** Undefined: its process died, or it still runs. */
  ended?: { readonly at: number; readonly how: Step['end'] | 'aborted' };
}

export interface FinishCall {
  readonly at: number;
  readonly process: string;
  readonly request: CompleteRequest;
  readonly answer: CompleteAnswer;
}

/** A process could not do its part. */
export interface Disturbance {
  readonly process: string;
  readonly kind: 'crash' | 'freeze' | 'ledger';
  readonly from: number;
  to: number;
}

/** The ledger lost something; `copies`: ids of jobs of which copies or runs were there. */
export interface LedgerLoss {
  readonly at: number;
  readonly copies: ReadonlySet<string>;
}

/** What happened, as it is seen from outside, and a line of text for each of it. */
export class History {
  readonly calls: Call[] = [];
  readonly grants: Grant[] = [];
  readonly starts: Start[] = [];
  readonly finishes: FinishCall[] = [];
  readonly disturbances: Disturbance[] = [];
  readonly losses: LedgerLoss[] = [];
  /** Jobs that no node had a copy of any more, when a node had lost some. */
  readonly robberies: { readonly id: string; readonly at: number }[] = [];
  /** Jobs that the ledger found or made dead, and when last. */
  readonly died = new Map<string, number>();
  /** Anything that must not happen whatever the plan. */
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

  /** Ids are random; their names in the log are not. */
  name(id: string): string {
    let name = this.names.get(id);
    if (name === undefined) this.names.set(id, (name = `job${this.names.size}`));
    return name;
  }

  /** A generation's number is its opening time. */
  generation(generation: number): string {
    return generation === 0 ? 'g0' : `g${this.when(generation)}`;
  }

  /** A ledger time in seconds since the start, as the lines have it. */
  when(at: number): string {
    const start = this.clock.wall() - this.clock.now();
    return ((at - start) / 1_000).toFixed(3);
  }

  /** A text of the library, with a job's name in place of its id. */
  named(text: string): string {
    return text.replace(/\S{24,26}/, (id) => this.name(id));
  }
}
