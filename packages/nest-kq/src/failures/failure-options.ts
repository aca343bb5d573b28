/** What becomes of failures of one handler: its options, their defaults and bounds. */
import type { Duration } from 'nest-handlers/time';
import { checkOptions, milliseconds, wholeNumber } from '../api/checks.js';
import { topicName, type Topic } from '../api/topic.js';
import { KqError, show, wrongValue } from '../errors.js';

/** What becomes of a message whose run fails. */
export interface FailureOptions {
  /** A longer run is a failure: its signal aborts. 1 ms to a day. @default none */
  timeout?: Duration;
  /** How a message runs again, before those behind it in its order, which wait for it. Others go on. */
  retry?: RetryOptions;
  /**
   * The topic of the messages that no run could handle, with what happened in their headers; `'dq'`: the dead letters of
   * nest-dq, after one more run there; or `'drop'`: an event tells of them, and they are gone. (A topic named `drop` is
   * `defineTopic('drop')`.) @default with retries through nest-dq `'dq'`, else none: a message is tried again without end
   */
  deadLetter?: string | Topic;
}

/** How a message runs again in place. */
export interface RetryOptions {
  /**
   * `'dq'`: a failed message becomes a job of nest-dq and counts as handled, so nothing waits for it; the job runs it again,
   * in any process. What comes behind it in its order overtakes it. It needs `KqDqModule` of `nest-kq/dq`.
   * @default in place: what is behind it in its order waits
   */
  through?: 'dq';
  /**
   * The most runs, with the first one, 1 to 1,000,000; then it is a dead letter. In place they count anew when the message
   * comes to another process, or again to this one, such as after a restart or a rebalance.
   * @default through nest-dq 10, else 3 with a `deadLetter`, else no limit
   */
  attempts?: number;
  /**
   * How long to wait after a failed run, up to a day, or what gives it: `attempt` counts from 1.
   * @default 1 s, twice as long each time, up to a minute; through nest-dq up to an hour
   */
  backoff?: Duration | ((attempt: number, error: Error) => Duration);
}

/** Where messages go that no run could handle. */
export type DeadLetterPlace = 'drop' | 'dq' | { readonly topic: string };

export interface FailureSettings {
  readonly timeout: number | undefined;
  readonly attempts: number;
  readonly backoff: (attempt: number, error: Error) => Duration;
  /** Failed messages run again as jobs of nest-dq. */
  readonly throughDq: boolean;
  /** Undefined: nothing takes them. */
  readonly deadLetter: DeadLetterPlace | undefined;
}

const DAY = 86_400_000;
const NAMES: readonly string[] = [
  'timeout',
  'retry',
  'deadLetter',
] satisfies readonly (keyof FailureOptions)[];
const RETRY: readonly string[] = ['through', 'attempts', 'backoff'] satisfies readonly (keyof RetryOptions)[];

/** 1 s, twice as long each time, up to a minute. */
export function defaultBackoff(attempt: number): number {
  return doubled(attempt, 60_000);
}

/** A job of nest-dq holds up nothing. */
function backoffThroughDq(attempt: number): number {
  return doubled(attempt, 3_600_000);
}

function doubled(attempt: number, most: number): number {
  return Math.min(1_000 * 2 ** Math.min(attempt - 1, 30), most);
}

/**
 * Checks the options and fills in their defaults; `KQ_BAD_OPTION`, `KQ_BAD_TOPIC`.
 * @param topics Those of the handler.
 */
export function resolveFailureOptions(
  options: FailureOptions,
  topics: readonly (string | RegExp)[],
): FailureSettings {
  checkOptions('KQ_BAD_OPTION', 'the failures', options, NAMES);
  const { timeout, retry = {} } = options;
  checkOptions('KQ_BAD_OPTION', '`retry`', retry, RETRY);
  const { through, attempts, backoff = through ? backoffThroughDq : defaultBackoff } = retry;
  if (through !== undefined && through !== 'dq')
    throw wrongValue('KQ_BAD_OPTION', '`retry.through`', through, "'dq', or nothing for retries in place");
  const deadLetter = options.deadLetter ?? through;
  if (attempts !== undefined && deadLetter === undefined)
    throw new KqError(
      'KQ_BAD_OPTION',
      `\`retry.attempts\` is ${show(attempts)}, and there is no \`deadLetter\`: expected a topic, 'dq' or 'drop'`,
    );
  wholeNumber('KQ_BAD_OPTION', '`retry.attempts`', attempts ?? 1, 1, 1_000_000);
  return {
    timeout: timeout === undefined ? undefined : time('`timeout`', timeout, 1),
    throughDq: through !== undefined,
    attempts: deadLetter === undefined ? Infinity : (attempts ?? (through ? 10 : 3)),
    backoff: typeof backoff === 'function' ? backoff : always(time('`retry.backoff`', backoff, 0)),
    deadLetter: deadLetter === undefined ? undefined : deadLetterOf(deadLetter, topics),
  };
}

function deadLetterOf(given: string | Topic, topics: readonly (string | RegExp)[]): DeadLetterPlace {
  if (given === 'drop' || given === 'dq') return given;
  const topic = topicName(given);
  // It would handle its own dead letters, without end.
  const own = topics.find((each) => (typeof each === 'string' ? each === topic : topic.search(each) >= 0));
  if (own === undefined) return { topic };
  const expected = `another topic than those which it handles, such as ${show(own)}`;
  throw wrongValue('KQ_BAD_OPTION', '`deadLetter`', topic, expected);
}

function time(what: string, value: unknown, least: number): number {
  return milliseconds('KQ_BAD_OPTION', what, value, least, DAY);
}

function always(delay: number): () => number {
  return () => delay;
}
