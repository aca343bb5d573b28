import { RunSignal } from 'nest-handlers/context';
import { ledgerGroup } from '../../copies/header.js';
import { formatRef } from '../../copies/job-ref.js';
import { DelayedJob, type JobRefText } from '../../api/job.js';
import type { Seal } from '../../seal/seal.js';
import type { StoredTube } from '../../api/tube.js';
import type { Sent } from '../../ledger/batcher.js';
import { permitOf } from '../../ledger/limits.js';
import type { ClaimAnswer, CompleteAnswer, RunRef } from '../../ledger/requests.js';
import type { Delivery } from '../reserve/delivery.js';
import type { HandlerSettings } from './handler-settings.js';
import type { Completion, RunOutcome } from './outcome.js';
import { DqError } from '../../errors.js';
import type { ConsumerReport } from '../report.js';

/** The ledger's permission for one run. */
export type Grant = Extract<ClaimAnswer, { kind: 'run' }>;

/** Milliseconds. A grant is not used that is answered, or begun, less than this before its lease may end. */
const LEASE_RESERVE = 1_000;
const nothing = (): void => undefined;
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** One run of one job, from its grant until the ledger has taken its completion. */
export class Run extends RunSignal {
  /** Where the start scheduler keeps it. */
  heapIndex = -1;
  /** Milliseconds of the clock: after that, somebody else may have been granted the job. */
  readonly usableUntil: number;
  /** See `permitOf`. */
  readonly permit: string | undefined;
  /** What its handler sees; undefined if that could not be read. */
  job: DelayedJob | undefined;
  /** Ledger time of the ledger's last OK, in ms. */
  lastOk: number;
  /** The handler can still say the outcome. */
  handling = true;
  /** Its handler has not returned, and nobody gave up waiting for that. */
  hasSlot = true;
  /** The lease was lost, and with it the right to say the outcome. */
  lost = false;
  /** Revoked while it runs: nothing follows it. */
  revoked = false;
  /** Milliseconds of the clock: when it began, and when its outcome was known. */
  startedAt = 0;
  endedAt = 0;
  /** What its handler returned. */
  result: unknown;
  /** Settles when its handler returns, if an interceptor around it has ended before; never rejects. */
  abandoned: Promise<unknown> | undefined;
  /** Its time has come. Set while it waits for that. */
  start = nothing;
  /** Its outcome is known. Set while its handler runs. */
  end: (outcome: RunOutcome) => void = nothing;
  /** The ledger has answered to its completion. Set while it is told. */
  taken: (answer: CompleteAnswer) => void = nothing;
  /** What the ledger is told; undefined until that is known. */
  completion: Completion | undefined;
  /** Ledger time, ms: when the job is due next, if it goes on as the generation that it is. */
  nextDue = 0;

  constructor(
    readonly delivery: Delivery,
    readonly grant: Grant,
    /** The claim. */
    sent: Sent,
    { lease, handling }: { readonly lease: number; readonly handling: HandlerSettings },
  ) {
    super();
    this.lastOk = sent.ledgerTime;
    this.usableUntil = sent.at + lease - LEASE_RESERVE;
    this.permit = handling.limits && permitOf(handling.limits, ledgerGroup(delivery.header));
  }

  get id(): string {
    return this.delivery.header.id;
  }

  /** Ledger time, ms. */
  get startsAt(): number {
    const { due, notBefore = due } = this.grant;
    return Math.max(due, notBefore);
  }

  /** What each call to the ledger about this run carries. */
  get ref(): RunRef {
    const { id, generation, born } = this.delivery.header;
    const { fence, attempt, due } = this.grant;
    return { id, generation, born, due, fence, attempt, lastOk: this.lastOk, permit: this.permit };
  }
}

/** A tube's two names. */
export interface TubeNames {
  /** As the user calls it. */
  readonly tube: string;
  /** Its prefix is part of it for nodes and ledger alike, so that one beanstalkd tube always means the same records. */
  readonly storedAs: StoredTube;
}

/** What the handler sees of a run. */
export class RunningJob extends DelayedJob {
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    private readonly run: Run,
    private readonly names: TubeNames,
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
    return this.names.tube;
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
    const content = { tube: this.names.storedAs, id, key, born, due, copies, places: [own, ...siblings] };
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

  /**
   * The outcome of this run is known while its handler still runs, as when an interceptor gave up waiting.
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

/** Raises a run's signal and reports it, once: another process may run the job now. */
export function loseLease({ tube, report }: Reporting, run: Run): void {
  if (run.lost) return;
  run.lost = true;
  const fact = `the lease of job ${run.id} in ${tube} was lost; its outcome will not count`;
  run.abort(new DqError('DQ_LEASE_LOST', fact));
  report.leaseLost(tube, run.id, run.grant.attempt);
}

/** Raises a run's signal and reports it, once: the job was revoked, and its handler is asked to stop. */
export function revokeRun({ tube, report }: Reporting, run: Run): void {
  if (run.revoked) return;
  run.revoked = true;
  const fact = `job ${run.id} in ${tube} was revoked; nothing follows this run`;
  run.abort(new DqError('DQ_REVOKED', fact));
  report.revoked(tube, run.id, run.grant.attempt);
}
