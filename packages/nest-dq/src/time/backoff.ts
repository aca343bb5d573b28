import type { Duration } from 'nest-handlers/time';
import { DqError, show, unknownName, wrongValue } from '../errors.js';
import { parseDuration } from './duration.js';

/** How long to wait before the next attempt. */
export interface BackoffPlan {
  /** `fixed`: the same wait each time. `exponential`: twice as long each time. */
  type: 'fixed' | 'exponential';
  /** The first wait. @default '2s' */
  delay?: Duration;
  /** No wait is longer; at least `delay`. @default '1h', of a fixed one none */
  max?: Duration;
  /**
   * Part of the wait that is left to chance, 0 to 1, so that jobs which failed together do not return together: 0.2 waits
   * for 80 to 100 % of it. @default 0.2, of a fixed one 0
   */
  jitter?: number;
}

/** A plan, or how long to wait after the run that failed: `attempt` counts from 1. */
export type Backoff = BackoffPlan | ((attempt: number, error: Error) => Duration);

/** A plan whose durations were checked; this is what the envelope carries. Milliseconds. */
export interface ResolvedBackoff {
  readonly type: 'fixed' | 'exponential';
  readonly delay: number;
  readonly max: number;
  readonly jitter: number;
}

export const DEFAULT_BACKOFF: ResolvedBackoff = {
  type: 'exponential',
  delay: 2_000,
  max: 3_600_000,
  jitter: 0.2,
};

/** Checks a plan and fills its defaults; `DQ_BAD_OPTION`, or `DQ_BAD_DURATION` for its durations. */
export function resolveBackoff(plan: BackoffPlan): ResolvedBackoff {
  if (typeof plan !== 'object' || plan === null || (plan.type !== 'fixed' && plan.type !== 'exponential')) {
    const expected = "{ type: 'fixed' or 'exponential', delay?, max?, jitter? }";
    throw wrongValue('DQ_BAD_OPTION', '`backoff`', plan, expected);
  }
  const unknown = Object.keys(plan).find((field) => !(field in DEFAULT_BACKOFF));
  if (unknown !== undefined) {
    throw unknownName('DQ_BAD_OPTION', `\`backoff.${unknown}\``, Object.keys(DEFAULT_BACKOFF));
  }
  const { type } = plan;
  const jitter = plan.jitter ?? (type === 'fixed' ? 0 : DEFAULT_BACKOFF.jitter);
  if (typeof jitter !== 'number' || !(jitter >= 0 && jitter <= 1)) {
    throw wrongValue('DQ_BAD_OPTION', '`backoff.jitter`', jitter, '0 to 1');
  }
  const delay = parseDuration(plan.delay ?? DEFAULT_BACKOFF.delay, '`backoff.delay`');
  return { type, delay, max: resolveMax(plan, delay), jitter };
}

function resolveMax({ type, delay: given, max }: BackoffPlan, delay: number): number {
  if (max === undefined && type === 'fixed') return delay;
  const most = parseDuration(max ?? DEFAULT_BACKOFF.max, '`backoff.max`');
  if (most >= delay) return most;
  const why =
    max === undefined
      ? `\`backoff.delay\` is ${show(given)}, and \`backoff.max\` is 1 h unless it is given: expected a \`max\` beside it`
      : `\`backoff.max\` is ${show(max)}: expected \`backoff.delay\`, which is ${delay} ms, or more`;
  throw new DqError('DQ_BAD_OPTION', why);
}

/** Milliseconds to wait after the given failed attempt (from 1). `random` is in [0, 1). */
export function backoffDelay(plan: ResolvedBackoff, attempt: number, random: number): number {
  const grown = plan.type === 'fixed' ? plan.delay : plan.delay * 2 ** Math.min(attempt - 1, 52);
  const wait = Math.min(grown, plan.max);
  return Math.round(wait * (1 - plan.jitter * random));
}
