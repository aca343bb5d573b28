import { isOutcome } from '../consumer/outcome.js';
import { DqError } from '../errors.js';
import { Again, type DelayedJob, type HandlerMethod, type HandlerResult, type JobView } from '../job.js';
import type { DqProducer } from '../producer/producer.js';
import type { Occurrences } from './occurrences.js';

/** Of the one job of a series, in its tube. */
export const SERIES_KEY = 'recurring';

/** Milliseconds by which the clocks of two processes may differ, without one of them undoing what the other one did. */
const CLOCKS_DIFFER = 60_000;

export interface SeriesParts {
  readonly producer: DqProducer;
  readonly occurrences: Occurrences;
  readonly handler: HandlerMethod;
}

/**
 * One job under one key, which comes again at each occurrence: so it is once however many processes have it, and none
 * runs while the one before still does, or waits for a retry.
 */
export class Series {
  constructor(
    readonly tube: string,
    private readonly parts: SeriesParts,
  ) {}

  /** Runs an occurrence, and says when the next one is. Any other job of the tube is none of the series, and just runs. */
  async run(payload: unknown, job: DelayedJob): Promise<HandlerResult> {
    const { handler, occurrences } = this.parts;
    if (job.key !== SERIES_KEY) return handler(payload, job);
    // By the ledger's clock, as the due times are: one that is ahead would skip an occurrence.
    const started = job.dueAt.getTime() + job.lateness;
    // Before the run, so that a plan that fails leaves no effect to be repeated.
    const next = occurrences.after(started);
    const result = await outcomeOf(handler, payload, job);
    if (isOutcome(result)) {
      if (result['~outcome'] !== 'again') return result;
      throw new DqError('DQ_BAD_OPTION', 'a recurring handler said Again: expected its plan to say when');
    }
    return next === undefined ? result : Again.at(next);
  }

  /**
   * Sees to it that the next occurrence is scheduled, and at no other time than the plan says: one that died ended the
   * job, and a new version of the application may have another plan.
   * @param now Milliseconds since 1970.
   */
  async keep(now: number): Promise<void> {
    const { producer, occurrences } = this.parts;
    const ref = { tube: this.tube, key: SERIES_KEY };
    const job = await producer.find(ref);
    if (!job || isOver(job)) return this.begin(Math.max(now, job?.dueAt.getTime() ?? 0));
    if (job.state !== 'waiting' || this.isPlanned(job.dueAt.getTime(), now)) return;
    const next = occurrences.after(now);
    if (next === undefined) await producer.revoke(ref);
    else await producer.reschedule(ref, next, { allowPast: true });
  }

  private async begin(after: number): Promise<void> {
    const { producer, occurrences } = this.parts;
    const next = occurrences.after(after);
    if (next === undefined) return;
    const key = SERIES_KEY;
    await producer.at(this.tube, undefined, next, { key, onDuplicate: 'keep', allowPast: true });
  }

  /** Whether what waits until `due` is the next occurrence, by a clock that is near `now`. */
  private isPlanned(due: number, now: number): boolean {
    if (due <= now) return true;
    const { occurrences } = this.parts;
    const earliest = occurrences.after(now - CLOCKS_DIFFER) ?? Infinity;
    const latest = occurrences.after(now + CLOCKS_DIFFER) ?? Infinity;
    return earliest <= due && due <= latest;
  }
}

/** What it returned, or the Outcome that it threw. */
async function outcomeOf(handler: HandlerMethod, payload: unknown, job: DelayedJob): Promise<unknown> {
  try {
    return await handler(payload, job);
  } catch (thrown) {
    if (isOutcome(thrown)) return thrown;
    throw thrown;
  }
}

function isOver({ state }: JobView): boolean {
  return state === 'done' || state === 'dead' || state === 'revoked';
}
