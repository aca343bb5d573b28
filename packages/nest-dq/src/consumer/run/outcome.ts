import type { Duration } from 'nest-handlers/time';
import { DEFAULT_BACKOFF, backoffDelay, type ResolvedBackoff } from '../../time/backoff.js';
import { DqError, TEXT_LIMIT, inWords, show, toError } from '../../errors.js';
import type { Again, Outcome, Retry } from '../../api/outcome.js';
import type { AnnouncedGeneration, Death, FailedRun } from '../../ledger/requests.js';
import { parseDuration } from '../../time/duration.js';
import { parseWhen } from '../../time/instant.js';

/** Names of the outcome classes. */
export const OUTCOMES = ['Retry', 'Again', 'Discard'];

/** The outcome of a run: what its handler returned, or what its failure means. */
export type RunOutcome =
  | { readonly kind: 'done' }
  /** Retries after `delay` ms. */
  | { readonly kind: 'retry'; readonly delay: number; readonly error: Error }
  | { readonly kind: 'dead'; readonly death: Death; readonly error: Error }
  /** The run succeeded, and the job runs again: after `delay` ms, but not before the time `at`. */
  | { readonly kind: 'again'; readonly delay: number; readonly at: number }
  /** Handed back by a shutdown: its attempt doesn't count. */
  | { readonly kind: 'back' };

/**
 * An outcome in the form the ledger takes. After an `Again`, either the new copies are stored (`again`) or too few of them are
 * (`later`).
 */
export type Completion =
  | Exclude<RunOutcome, { kind: 'again' }>
  | { readonly kind: 'again' | 'later'; readonly next: AnnouncedGeneration };

/** Computes the delay after a failed run. */
export type BackoffFunction = (attempt: number, error: Error) => Duration;

export interface Limits {
  /** Number of the run that ended, from 1. */
  readonly attempt: number;
  /** Maximum number of runs. */
  readonly attempts: number;
  readonly backoff: ResolvedBackoff | BackoffFunction;
}

/** Returns the outcome of a handler that failed, or that returned or threw an `Outcome`. */
export function outcomeOf(thrown: unknown, limits: Limits): RunOutcome {
  return isOutcome(thrown) ? outcomeSaid(thrown, limits) : failed(toError(thrown), limits);
}

export function deathOf(why: Death['why'], error: Error): Death {
  const { name, stack } = error;
  return {
    why,
    error: {
      name: cut(name, TEXT_LIMIT),
      message: cut(textOf(error), TEXT_LIMIT),
      stack: stack && cut(stack, TEXT_LIMIT),
    },
  };
}

/** Limits of an error kept with a job that is retried, in characters: its name, and the name and message together. */
const NAME_LIMIT = 60;
const FAILURE_LIMIT = 300;

/** Returns name and message of an error in the form a retried job keeps. */
export function failureText(error: Error): Pick<FailedRun, 'name' | 'message'> {
  const name = cut(error.name, NAME_LIMIT);
  return { name, message: cut(textOf(error), FAILURE_LIMIT - name.length) };
}

/** Half a surrogate pair, at the cut or in the text, would make the ledger's JSON invalid in Lua. */
export function cut(text: string, limit: number): string {
  return text.slice(0, limit).replace(/\p{Surrogate}/gu, '\uFFFD');
}

/**
 * Returns the messages of an error and of the errors inside it. Some messages of an HttpException, such as a ValidationPipe's,
 * are only in its response.
 */
export function textOf(error: Error): string {
  const { message } = inWords(error);
  const found = responseOf(error)
    .map((each) => (typeof each === 'string' ? each : show(each)))
    .join(', ');
  return message.includes(found) ? message : `${message}: ${found}`;
}

function responseOf(error: Error & { getResponse?: unknown }): unknown[] {
  try {
    if (typeof error.getResponse !== 'function') return [];
    const response = error.getResponse() as { readonly message?: unknown } | undefined;
    const found = response?.message ?? [];
    return Array.isArray(found) ? found : [found];
  } catch {
    return []; // an unrelated method with that name
  }
}

/** Checks for a mark, not the class: an application may load this library twice. */
export function isOutcome(value: unknown): value is Outcome {
  try {
    return typeof value === 'object' && value !== null && '~outcome' in value;
  } catch {
    return false; // a proxy's trap threw
  }
}

function outcomeSaid(outcome: Outcome, limits: Limits): RunOutcome {
  try {
    switch (outcome['~outcome']) {
      case 'discard': {
        const error = toError(outcome);
        return { kind: 'dead', death: deathOf('discarded', error), error };
      }
      case 'again':
        return outcomeOfAgain(outcome as Again);
      default: {
        const { delay, cause } = outcome as Retry;
        const error = toError(cause === undefined ? outcome : cause);
        return failed(error, limits, parseDuration(delay, 'the delay of Retry.after'));
      }
    }
  } catch (slip) {
    return failed(toError(slip), limits); // the job fails but isn't lost, and the log shows the handler's mistake
  }
}

function outcomeOfAgain({ when }: Again): RunOutcome {
  return 'at' in when
    ? {
        kind: 'again',
        delay: 0,
        at: Math.max(
          1,
          parseWhen(when.at, (given) => `Again.after(${given})`),
        ),
      } // 0 means none
    : { kind: 'again', delay: parseDuration(when.delay, 'the delay of Again.after'), at: 0 };
}

function failed(error: Error, { attempt, attempts, backoff }: Limits, delay?: number): RunOutcome {
  if (attempt >= attempts) return { kind: 'dead', death: deathOf('attempts', error), error };
  if (delay !== undefined) return { kind: 'retry', delay, error };
  if (typeof backoff !== 'function') return { kind: 'retry', delay: delayOf(backoff, attempt), error };
  try {
    const asked: unknown = backoff(attempt, error);
    // A promise isn't a duration, which is reported below. Its rejection must not crash the process as well.
    if (asked instanceof Promise) asked.catch(() => undefined);
    return { kind: 'retry', delay: parseDuration(asked as Duration, 'the result'), error };
  } catch (thrown) {
    const cause = toError(thrown);
    const slip = `the handler's \`backoff\` failed after «${error.message}»: ${cause.message}`;
    const shown = new DqError('DQ_BAD_OPTION', slip, { cause });
    return { kind: 'retry', delay: delayOf(DEFAULT_BACKOFF, attempt), error: shown };
  }
}

function delayOf(backoff: ResolvedBackoff, attempt: number): number {
  return backoffDelay(backoff, attempt, Math.random());
}
