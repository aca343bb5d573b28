import { isOutcome, type Retry } from '../api/outcome.js';
import type { Death } from '../events/events.js';
import { KqError, show, toError, wrongValue } from '../errors.js';
import { defaultBackoff, type FailureSettings } from './failure-options.js';

/** What a failed run means. */
export type Verdict =
  | { readonly kind: 'again'; readonly after: number; readonly error: Error }
  | { readonly kind: 'dead'; readonly death: Death };

/** What a handler threw, or the outcome that it returned, means after so many attempts. */
export function verdictOf(thrown: unknown, attempt: number, settings: FailureSettings): Verdict {
  if (!isOutcome(thrown)) return failed(toError(thrown), attempt, settings);
  // A later version, or nest-dq, may know others.
  const kind: string = thrown['~outcome'];
  if (kind === 'discard')
    return { kind: 'dead', death: { why: 'discarded', error: toError(thrown), runs: attempt } };
  if (kind !== 'retry') {
    const slip = wrongValue('KQ_BAD_OPTION', 'the outcome', kind, 'Retry.after or Discard.because');
    return failed(slip, attempt, settings);
  }
  const { delay, cause } = thrown as Retry;
  const error = toError(cause === undefined ? thrown : cause);
  if (isWait(delay)) return failed(error, attempt, { ...settings, backoff: () => delay });
  const slip = wrongValue('KQ_BAD_OPTION', 'the delay of Retry.after', delay, MILLISECONDS);
  return failed(slip, attempt, settings);
}

const MILLISECONDS = 'milliseconds';

function failed(error: Error, attempt: number, { attempts, backoff }: FailureSettings): Verdict {
  if (attempt >= attempts) return { kind: 'dead', death: { why: 'attempts', error, runs: attempt } };
  let why: string;
  try {
    const after: unknown = backoff(attempt, error);
    // A promise is no number. Its rejection must not end the process as well.
    if (after instanceof Promise) after.catch(() => undefined);
    if (isWait(after)) return { kind: 'again', after, error };
    why = `it gave ${show(after)}, expected ${MILLISECONDS}`;
  } catch (thrown) {
    why = toError(thrown).message;
  }
  const fact = `the handler's \`backoff\` failed after «${error.message}»: ${why}`;
  const slip = new KqError('KQ_BAD_OPTION', fact, { cause: error });
  return { kind: 'again', after: defaultBackoff(attempt), error: slip };
}

function isWait(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Infinity;
}
