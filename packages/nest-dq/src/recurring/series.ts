import { isOutcome } from '../consumer/run/outcome.js';
import { DqError } from '../errors.js';
import type { DelayedJob, HandlerMethod, JobView } from '../api/job.js';
import { Again } from '../api/outcome.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import type { Occurrences } from './occurrences.js';

/** Key of a series' only job, in its tube. */
export const SERIES_KEY = 'recurring';

/** Header with the plan that the job was scheduled by. */
const PLAN_HEADER = 'dq-plan';

/** The part of the producer that a series uses. */
export type SeriesProducer = Pick<
  ClusterProducer,
  'find' | 'headersOf' | 'at' | 'replan' | 'revoke' | 'ledgerTime'
>;

interface SeriesParts {
  readonly producer: SeriesProducer;
  readonly occurrences: Occurrences;
  readonly handler: HandlerMethod;
}

/**
 * One job with one key, which comes again at each occurrence. So an occurrence runs once no matter how many processes have the
 * series, and none starts while the previous one is still running or waiting for a retry.
 */
export class Series {
  constructor(
    readonly tube: string,
    private readonly parts: SeriesParts,
  ) {}

  /**
   * Runs an occurrence and returns when the next one is. If the job was scheduled by another plan, this run ends it, and
   * `schedule` adds a new one: `Again` would keep the other plan's header. Any other job of the tube just runs.
   */
  async run(payload: unknown, job: DelayedJob): Promise<unknown> {
    const { handler, occurrences } = this.parts;
    if (job.key !== SERIES_KEY) return handler(payload, job);
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
   */
  async schedule(): Promise<void> {
    const { producer, occurrences } = this.parts;
    const now = await producer.ledgerTime(this.tube);
    const job = await producer.find({ tube: this.tube, key: SERIES_KEY });
    if (!job || isOver(job)) return this.begin(Math.max(now, job?.dueAt.getTime() ?? 0));
    // An overdue job still runs, even under another plan.
    if (job.state !== 'waiting' || job.dueAt.getTime() <= now) return;
    const headers = await producer.headersOf(job);
    if (!headers || this.isPlanned(headers)) return;
    const next = occurrences.after(now);
    if (next === undefined) await producer.revoke(job);
    else await producer.replan(job, next, this.headers);
  }

  private async begin(after: number): Promise<void> {
    const { producer, occurrences } = this.parts;
    const next = occurrences.after(after);
    if (next === undefined) return;
    const options = { key: SERIES_KEY, onDuplicate: 'keep', allowPast: true, headers: this.headers } as const;
    await producer.at(this.tube, undefined, next, options);
  }

  /** The plan as a string, the same in all processes. */
  get plan(): string {
    return this.parts.occurrences.plan;
  }

  /** Returns the first occurrence after a time, both in epoch ms; undefined if there are no more. */
  after(instant: number): number | undefined {
    return this.parts.occurrences.after(instant);
  }

  private get headers(): Record<string, string> {
    return { [PLAN_HEADER]: this.plan };
  }

  private isPlanned(headers: Readonly<Record<string, string>>): boolean {
    return headers[PLAN_HEADER] === this.plan;
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
