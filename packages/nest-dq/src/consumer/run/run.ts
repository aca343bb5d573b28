import { RunSignal } from 'nest-handlers/context';
import { startByOf } from '../../copies/expiry.js';
import { formatRef } from '../../copies/job-ref.js';
import { DelayedJob, type JobRefText } from '../../api/job.js';
import type { Seal } from '../../seal/seal.js';
import type { StoredTube } from '../../api/tube.js';
import type { Sent } from '../../ledger/batcher.js';
import type { ClaimAnswer, CompleteAnswer, RunProgress, RunRef } from '../../ledger/requests.js';
import type { Delivery } from '../reserve/delivery.js';
import type { HandlerSettings } from './handler-settings.js';
import type { Completion, RunOutcome } from './outcome.js';
import { DqError } from '../../errors.js';
import type { ConsumerReport } from '../report.js';

/** The ledger's permission for one run. */
export type Grant = Extract<ClaimAnswer, { kind: 'run' }>;

/** Min time, in ms, that must be left of a lease when its grant is answered and when its run starts; otherwise the grant isn't used. */
const LEASE_RESERVE = 1_000;
const nothing = (): void => undefined;
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** One run of one job, from its grant until the ledger has accepted its completion. */
export class Run extends RunSignal {
  /** Index in the start scheduler's heap. */
  heapIndex = -1;
  /** Time on the local clock, in ms, after which the job may have been granted to another process. */
  readonly usableUntil: number;
  /** The permit that the run holds; see `permitOf`. */
  readonly permit: string | undefined;
  /** Latest start, as ledger time in ms; undefined if the job never expires. */
  readonly startBy: number | undefined;
  /** The job as its handler sees it; undefined if it couldn't be read. */
  job: DelayedJob | undefined;
  /** Ledger time of the ledger's last OK, in ms. */
  lastOk: number;
  /** Whether the handler can still determine the outcome. */
  handling = true;
  /** Whether the handler hasn't returned and is still waited for. */
  hasSlot = true;
  /** Whether the lease was lost, and with it the right to determine the outcome. */
  lost = false;
  /** Whether the job was revoked while running, so that it isn't run again. */
  revoked = false;
  /** Times on the local clock, in ms: when it started, and when its outcome became known. */
  startedAt = 0;
  endedAt = 0;
  /** The last one its handler reported. */
  progress: RunProgress | undefined;
  /** Return value of its handler. */
  result: unknown;
  /** Resolves when the handler returns, if an interceptor around it ended earlier; never rejects. */
  abandoned: Promise<unknown> | undefined;
  /** Starts the run. Set while it waits for its time. */
  start = nothing;
  /** Ends the run with its outcome. Set while its handler runs. */
  end: (outcome: RunOutcome) => void = nothing;
  /** Called with the ledger's answer to the completion. Set while that is being sent. */
  taken: (answer: CompleteAnswer) => void = nothing;
  /** The completion sent to the ledger; undefined until it is known. */
  completion: Completion | undefined;
  /** Ledger time, in ms, at which the job is due next if it continues as the same generation. */
  nextDue = 0;

  constructor(
    readonly delivery: Delivery,
    readonly grant: Grant,
    /** When the claim was sent. */
    sent: Sent,
    { lease, handling }: { readonly lease: number; readonly handling: HandlerSettings },
  ) {
    super();
    this.lastOk = sent.ledgerTime;
    this.usableUntil = sent.at + lease - LEASE_RESERVE;
    const { header } = delivery;
    this.startBy = grant.startBy ?? (header.foreign ? undefined : startByOf(header, handling.expireAfter));
    this.permit = delivery.permit;
  }

  get id(): string {
    return this.delivery.header.id;
  }

  /** Start time, as ledger time in ms. */
  get startsAt(): number {
    const { due, notBefore = due } = this.grant;
    return Math.max(due, notBefore);
  }

  /** Identifies this run in each call to the ledger. */
  get ref(): RunRef {
    const { id, generation, born } = this.delivery.header;
    const { fence, attempt, due } = this.grant;
    return { id, generation, born, due, fence, attempt, lastOk: this.lastOk, permit: this.permit };
  }
}

/** The two names of a tube. */
export interface TubeNames {
  /** The name the user gave it. */
  readonly tube: string;
  /** The name including the prefix, for nodes and ledger alike, so that one beanstalkd tube always means the same records. */
  readonly storedAs: StoredTube;
}

/** Takes the progress that handlers report. */
export interface ProgressReports {
  /** Replaces the progress of a run, unless its end is known. Throws `DQ_BAD_OPTION`. */
  report(run: Run, fraction: number, note: string | undefined): void;
}

/** A run as its handler sees it. */
export class RunningJob extends DelayedJob {
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly run: Run,
    private readonly context: TubeNames & { readonly progress: ProgressReports },
    private readonly seal: Seal | undefined,
    readonly attempts: number,
    readonly lateness: number,
    readonly payload: unknown,
  ) {
    super();
    this.headers = run.delivery.header.headers ?? NO_HEADERS;
  }

  get id(): string {
    return this.run.id;
  }

  get tube(): string {
    return this.context.tube;
  }

  get key(): string | undefined {
    return this.run.delivery.header.key;
  }

  get group(): string | undefined {
    return this.run.delivery.header.group;
  }

  get ref(): JobRefText {
    const { id, key, born, due, copies, index, siblings } = this.run.delivery.header;
    const own = { index, location: this.run.delivery.location };
    const content = { tube: this.context.storedAs, id, key, born, due, copies, places: [own, ...siblings] };
    return formatRef(content, this.seal);
  }

  get dueAt(): Date {
    return new Date(this.run.grant.due);
  }

  get attempt(): number {
    return this.run.grant.attempt;
  }

  get fence(): number {
    return this.run.grant.fence;
  }

  get signal(): AbortSignal {
    return this.run.signal;
  }

  progress(fraction: number, note?: string): void {
    this.context.progress.report(this.run, fraction, note);
  }

  /**
   * Called when the outcome is known while the handler still runs, for example because an interceptor gave up waiting.
   * @param handler Settles when the handler returns, and never rejects.
   */
  abandon(handler: Promise<unknown>): void {
    this.run.abandoned = handler;
  }
}

interface Reporting {
  readonly tube: string;
  readonly report: ConsumerReport;
}

/** Aborts a run's signal and reports that its lease is lost, once: another process may run the job now. */
export function loseLease({ tube, report }: Reporting, run: Run): void {
  if (run.lost) return;
  run.lost = true;
  const fact = `the lease of job ${run.id} in ${tube} was lost; its outcome will be dropped`;
  run.abort(new DqError('DQ_LEASE_LOST', fact));
  report.leaseLost(tube, run.id, run.grant.attempt);
}

/** Aborts a run's signal, to ask the handler of a revoked job to stop, and reports it, once. */
export function revokeRun({ tube, report }: Reporting, run: Run): void {
  if (run.revoked) return;
  run.revoked = true;
  const fact = `job ${run.id} in ${tube} was revoked; nothing follows this run`;
  run.abort(new DqError('DQ_REVOKED', fact));
  report.revoked(tube, run.id, run.grant.attempt);
}
