import type { Duration } from 'nest-handlers/time';
import { DqError, show, unknownName, wrongValue } from '../errors.js';
import { parseDuration } from './duration.js';

/** Delay before the next attempt. */
export interface BackoffPlan {
  /** `fixed`: the same delay each time. `exponential`: doubles each time. */
  type: 'fixed' | 'exponential';
  /** First delay. @default '2s' */
  delay?: Duration;
  /** Max delay; at least `delay`. @default '1h', none for `fixed` */
  max?: Duration;
  /**
   * Random part of the delay, 0 to 1, so that jobs which failed together don't return together: with 0.2, the delay is 80 to 100
   * % of its full length. @default 0.2, 0 for `fixed`
   */
  jitter?: number;
}

/** A plan, or a function that returns the delay after a failed run; `attempt` counts from 1. */
export type Backoff = BackoffPlan | ((attempt: number, error: Error) => Duration);

/** A validated plan, as carried by the envelope. In ms. */
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

/** Validates a plan and applies defaults. `DQ_BAD_OPTION`, or `DQ_BAD_DURATION` for its durations. */
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
      ? `\`backoff.delay\` is ${show(given)}, but \`backoff.max\` defaults to 1 h: expected a \`max\` as well`
      : `\`backoff.max\` is ${show(max)}: expected \`backoff.delay\`, which is ${delay} ms, or more`;
  throw new DqError('DQ_BAD_OPTION', why);
}

/** Returns the delay after the given failed attempt (from 1), in ms. `random` is in [0, 1). */
export function backoffDelay(plan: ResolvedBackoff, attempt: number, random: number): number {
  const grown = plan.type === 'fixed' ? plan.delay : plan.delay * 2 ** Math.min(attempt - 1, 52);
  const wait = Math.min(grown, plan.max);
  return Math.round(wait * (1 - plan.jitter * random));
}
