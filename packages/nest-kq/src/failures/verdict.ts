import { readDuration } from 'nest-handlers/time';
import { isOutcome, type Retry } from '../api/outcome.js';
import type { Death } from '../events/events.js';
import { KqError, show, toError, wrongValue } from '../errors.js';
import { defaultBackoff, type FailureSettings } from './failure-options.js';

/** The consequence of a failed run. */
export type Verdict =
  /** `runs`: runs so far. */
  | { readonly kind: 'again'; readonly after: number; readonly error: Error; readonly runs: number }
  | { readonly kind: 'dead'; readonly death: Death };

/** Returns the consequence of a thrown error or a returned outcome after `attempt` runs. */
export function verdictOf(thrown: unknown, attempt: number, settings: FailureSettings): Verdict {
  if (!isOutcome(thrown)) return failed(toError(thrown), attempt, settings);
  // A later version, or nest-dq, may have other kinds.
  const kind: string = thrown['~outcome'];
  if (kind === 'discard')
    return { kind: 'dead', death: { why: 'discarded', error: toError(thrown), runs: attempt } };
  if (kind !== 'retry') {
    const slip = wrongValue('KQ_BAD_OPTION', 'the outcome', kind, 'Retry.after or Discard.because');
    return failed(slip, attempt, settings);
  }
  const { delay, cause } = thrown as Retry;
  const error = toError(cause === undefined ? thrown : cause);
  const wait = readDuration(delay);
  if (typeof wait === 'number') return failed(error, attempt, { ...settings, backoff: () => wait });
  const fact = `the delay of Retry.after is ${show(delay)}: ${wait}`;
  return failed(new KqError('KQ_BAD_OPTION', fact), attempt, settings);
}

function failed(error: Error, attempt: number, settings: FailureSettings): Verdict {
  const { attempts, backoff, retries } = settings;
  if (attempt >= attempts) return { kind: 'dead', death: { why: 'attempts', error, runs: attempt } };
  let why: string;
  let option = 'retryOn` or `notRetryOn';
  try {
    if (!retries(error)) return { kind: 'dead', death: { why: 'notRetried', error, runs: attempt } };
    option = 'backoff';
    const given: unknown = backoff(attempt, error);
    // A promise isn't a duration. Its rejection must not crash the process as well.
    if (given instanceof Promise) given.catch(() => undefined);
    const after = readDuration(given);
    if (typeof after === 'number') return { kind: 'again', after, error, runs: attempt };
    why = `it returned ${show(given)}: ${after}`;
  } catch (thrown) {
    why = toError(thrown).message;
  }
  const fact = `the handler's \`${option}\` failed after «${error.message}»: ${why}`;
  const slip = new KqError('KQ_BAD_OPTION', fact, { cause: error });
  return { kind: 'again', after: defaultBackoff(attempt), error: slip, runs: attempt };
}
