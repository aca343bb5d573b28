import { isOutcome } from '../consumer/run/outcome.js';
import { DqError } from '../errors.js';
import type { DelayedJob, HandlerMethod, JobView } from '../api/job.js';
import { Again } from '../api/outcome.js';
import { encodePayload, type Content } from '../copies/payload.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import type { Occurrences } from './occurrences.js';

/** Key of a `@Recurring`'s only job, in its tube. */
export const SERIES_KEY = 'recurring';

/** Header with the plan that the job of a `@Recurring` was scheduled by. */
const PLAN_HEADER = 'dq-plan';

/** The part of the producer that a series uses. */
export type SeriesProducer = Pick<
  ClusterProducer,
  'find' | 'headersOf' | 'at' | 'replan' | 'revoke' | 'ledgerTime'
>;

interface SeriesParts {
  readonly producer: SeriesProducer;
  readonly occurrences: Occurrences;
  /** Key of its job. @default SERIES_KEY */
  readonly key?: string;
  /** Identifies the plan: its job carries it. @default the header `dq-plan` with the plan */
  readonly headers?: Readonly<Record<string, string>>;
  /** @default undefined */
  readonly payload?: unknown;
}

/** A series' job, as far as it's known. */
export interface ScheduledJob {
  /** `none` if the series has ended. */
  readonly state: JobView['state'] | 'none';
  /** Ledger time in ms; absent for `none`. */
  readonly dueAt?: number;
  /** Ledger time of the look, in ms. */
  readonly seenAt: number;
  /** True if somebody else was first: its plan and time aren't known. */
  readonly kept?: true;
}

/** The start of a plan. */
export interface SeriesStart {
  /** Ledger time in ms: its first occurrence is the first one after it, even if that has passed. */
  readonly after: number;
  /** True to start there only if there is no job: the occurrence of one that is over isn't repeated. */
  readonly onlyIfUnknown?: boolean;
  /** True if there's probably no job, so that none is looked for. */
  readonly isNew?: boolean;
}

/**
 * One job with one key, which comes again at each occurrence. So an occurrence runs once no matter how many processes have the
 * series, and none starts while the previous one is still running or waiting for a retry.
 */
export class Series {
  readonly key: string;
  private readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly tube: string,
    private readonly parts: SeriesParts,
  ) {
    const { key = SERIES_KEY, headers = { [PLAN_HEADER]: parts.occurrences.plan } } = parts;
    this.key = key;
    this.headers = headers;
  }

  /**
   * Runs an occurrence and returns when the next one is. If the job was scheduled by another plan, this run ends it, and
   * `schedule` adds a new one: `Again` would keep the other plan's header. Any other job of the tube just runs.
   */
  async run(handler: HandlerMethod, payload: unknown, job: DelayedJob): Promise<unknown> {
    const { occurrences } = this.parts;
    if (job.key !== this.key) return handler(payload, job);
    // Ledger time, like due times. A local clock that is ahead would skip an occurrence.
    const started = job.dueAt.getTime() + job.lateness;
    // Before the run, so that a failing plan leaves no side effects to repeat.
    const next = occurrences.after(started);
    const result = await outcomeOf(handler, payload, job);
    if (isOutcome(result)) {
      if (result['~outcome'] !== 'again') return result;
      throw new DqError(
        'DQ_BAD_OPTION',
        'a recurring handler returned Again, but its plan decides when it runs next',
      );
    }
    return next === undefined || !this.isPlanned(job.headers) ? result : Again.at(next);
  }

  /**
   * Ensures that an occurrence is scheduled, by this plan: a job that died or was revoked is over, and a new version of the
   * application may have another plan. With the same plan the job isn't moved, because a calendar may answer differently at any
   * time, and people may have skipped or moved an occurrence. The next occurrence depends on ledger time only: the local clock
   * may be wrong, and nobody would correct the occurrence. `DQ_LEDGER_DOWN`.
   * @param start Where the plan begins, if it was set just now.
   */
  async schedule(start?: SeriesStart): Promise<ScheduledJob> {
    const { producer, occurrences } = this.parts;
    const now = await producer.ledgerTime(this.tube);
    const job = await producer.find({ tube: this.tube, key: this.key });
    if (!job) return this.begin(start?.after ?? now, now);
    if (isOver(job)) {
      return this.begin(
        start && !start.onlyIfUnknown ? start.after : Math.max(now, job.dueAt.getTime()),
        now,
      );
    }
    const dueAt = job.dueAt.getTime();
    const present = { state: job.state, dueAt, seenAt: now };
    // An overdue job still runs, even under another plan.
    if (job.state !== 'waiting' || dueAt <= now) return present;
    const headers = await producer.headersOf(job);
    if (!headers || this.isPlanned(headers)) return present;
    const next = occurrences.after(start?.after ?? now);
    if (next === undefined) {
      await producer.revoke(job);
      return { state: 'none', seenAt: now };
    }
    await producer.replan(job, next, this.headers, ...this.content);
    return { ...present, dueAt: next };
  }

  /** Schedules its first occurrence after a time. An existing job stays. `DQ_LEDGER_DOWN`. */
  async begin(after: number, now: number): Promise<ScheduledJob> {
    const { producer, occurrences, payload } = this.parts;
    const next = occurrences.after(after);
    if (next === undefined) return { state: 'none', seenAt: now };
    const options = { key: this.key, onDuplicate: 'keep', allowPast: true, headers: this.headers } as const;
    const { status } = await producer.at(this.tube, payload, next, options);
    return { state: 'waiting', dueAt: next, seenAt: now, ...(status === 'kept' && { kept: true }) };
  }

  /** The plan as a string, the same in all processes. */
  get plan(): string {
    return this.parts.occurrences.plan;
  }

  /** Returns the first occurrence after a time, both in epoch ms; undefined if there are no more. */
  after(instant: number): number | undefined {
    return this.parts.occurrences.after(instant);
  }

  /** Empty for a `@Recurring`, whose jobs never have a payload. */
  private get content(): [Content?] {
    return 'payload' in this.parts ? [encodePayload(this.parts.payload)] : [];
  }

  private isPlanned(headers: Readonly<Record<string, string>>): boolean {
    return Object.entries(this.headers).every(([name, value]) => headers[name] === value);
  }
}

/** Resolves with what the handler returned, or the Outcome it threw. */
async function outcomeOf(handler: HandlerMethod, payload: unknown, job: DelayedJob): Promise<unknown> {
  try {
    return await handler(payload, job);
  } catch (thrown) {
    if (isOutcome(thrown)) return thrown;
    throw thrown;
  }
}

function isOver({ state }: JobView): boolean {
  return state === 'done' || state === 'dead' || state === 'revoked' || state === 'expired';
}
