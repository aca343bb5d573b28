import { DqError, toError } from '../errors.js';
import type { Outcome, Retry } from '../job.js';
import type { Death } from '../ledger/ledger.js';
import { backoffDelay, parseDuration, type ResolvedBackoff } from '../time.js';

/** What becomes of a run. */
export type Verdict =
  | { readonly kind: 'done' }
  /** Once more after `delay` ms. */
  | { readonly kind: 'retry'; readonly delay: number; readonly error: Error }
  | { readonly kind: 'dead'; readonly death: Death; readonly error: Error }
  /** Given back by a shutdown. */
  | { readonly kind: 'back' };

export interface Limits {
  /** The run that ended, from 1. */
  readonly attempt: number;
  /** Runs at most. */
  readonly attempts: number;
  readonly backoff: ResolvedBackoff;
}

/** Characters of a message, and of a stack, that a dead letter keeps. */
const TEXT_LIMIT = 2_000;

/** A handler returned: an Outcome acts, anything else is done. */
export function judgeResult(result: unknown, limits: Limits): Verdict {
  return isOutcome(result) ? judgeOutcome(result, limits) : { kind: 'done' };
}

/** A handler threw: an Outcome acts, anything else is a failure. */
export function judgeError(thrown: unknown, limits: Limits): Verdict {
  if (isOutcome(thrown)) return judgeOutcome(thrown, limits);
  return failed(toError(thrown), limits);
}

export function deathOf(why: Death['why'], error: Error): Death {
  const { name, message, stack } = error;
  return {
    why,
    error: { name, message: message.slice(0, TEXT_LIMIT), stack: stack?.slice(0, TEXT_LIMIT) },
  };
}

function judgeOutcome(outcome: Outcome, limits: Limits): Verdict {
  if (outcome['~outcome'] === 'discard') {
    const error = toError(outcome);
    return { kind: 'dead', death: deathOf('discarded', error), error };
  }
  const { delay, cause } = outcome as Retry;
  const error = toError(cause === undefined ? outcome : cause);
  try {
    return failed(error, limits, parseDuration(delay, 'the delay of Retry.after'));
  } catch (badDelay) {
    if (!(badDelay instanceof DqError)) throw badDelay;
    return failed(badDelay, limits); // the job is kept, and the log shows the handler's slip
  }
}

function failed(error: Error, { attempt, attempts, backoff }: Limits, delay?: number): Verdict {
  if (attempt >= attempts) return { kind: 'dead', death: deathOf('attempts', error), error };
  return { kind: 'retry', delay: delay ?? backoffDelay(backoff, attempt, Math.random()), error };
}

/** By its mark, not by its class: an application may have this library twice. */
export function isOutcome(value: unknown): value is Outcome {
  try {
    return typeof value === 'object' && value !== null && '~outcome' in value;
  } catch {
    return false; // a proxy's trap threw
  }
}
