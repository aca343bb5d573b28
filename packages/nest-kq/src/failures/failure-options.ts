/** What becomes of failures of one handler: its options, their defaults and bounds. */
import { checkOptions, wholeNumber } from '../api/checks.js';
import { topicName, type Topic } from '../api/topic.js';
import { KqError, show, wrongValue } from '../errors.js';

/** What becomes of a message whose run fails. */
export interface FailureOptions {
  /** A longer run is a failure: its signal aborts. Milliseconds, 1 to a day. @default none */
  timeout?: number;
  /** How a message runs again, before those behind it in its order, which wait for it. Others go on. */
  retry?: RetryOptions;
  /**
   * The topic of the messages that no run could handle, with what happened in their headers, or `'drop'`: an event tells of
   * them, and they are gone. (A topic named `drop` is `defineTopic('drop')`.)
   * @default none: a message is tried again without end
   */
  deadLetter?: string | Topic;
}

/** How a message runs again in place. */
export interface RetryOptions {
  /**
   * The most runs, with the first one, 1 to 1,000,000; then it is a dead letter. They count anew when the message comes
   * to another process, or again to this one, such as after a restart or a rebalance. @default 3 with a `deadLetter`, else no limit
   */
  attempts?: number;
  /**
   * Milliseconds to wait after a failed run, or what gives them: `attempt` counts from 1.
   * @default 1 s, twice as long each time, up to a minute
   */
  backoff?: number | ((attempt: number, error: Error) => number);
}

export interface FailureSettings {
  readonly timeout: number | undefined;
  readonly attempts: number;
  readonly backoff: (attempt: number, error: Error) => number;
  /** Undefined: nothing takes them. */
  readonly deadLetter: 'drop' | { readonly topic: string } | undefined;
}

const DAY = 86_400_000;
const NAMES: readonly string[] = [
  'timeout',
  'retry',
  'deadLetter',
] satisfies readonly (keyof FailureOptions)[];
const RETRY: readonly string[] = ['attempts', 'backoff'] satisfies readonly (keyof RetryOptions)[];

/** 1 s, twice as long each time, up to a minute. */
export function defaultBackoff(attempt: number): number {
  return Math.min(1_000 * 2 ** Math.min(attempt - 1, 6), 60_000);
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
  const { timeout, retry = {}, deadLetter } = options;
  checkOptions('KQ_BAD_OPTION', '`retry`', retry, RETRY);
  const { attempts, backoff = defaultBackoff } = retry;
  if (attempts !== undefined && deadLetter === undefined)
    throw new KqError(
      'KQ_BAD_OPTION',
      `\`retry.attempts\` is ${show(attempts)}, and there is no \`deadLetter\`: expected a topic, or 'drop'`,
    );
  if (timeout !== undefined) checkNumber('`timeout`', timeout, 1, DAY);
  checkNumber('`retry.attempts`', attempts ?? 1, 1, 1_000_000);
  if (typeof backoff !== 'function') checkNumber('`retry.backoff`', backoff, 0, DAY);
  return {
    timeout,
    attempts: deadLetter === undefined ? Infinity : (attempts ?? 3),
    backoff: typeof backoff === 'function' ? backoff : () => backoff,
    deadLetter: deadLetter === undefined ? undefined : deadLetterOf(deadLetter, topics),
  };
}

function deadLetterOf(
  given: string | Topic,
  topics: readonly (string | RegExp)[],
): 'drop' | { readonly topic: string } {
  if (given === 'drop') return given;
  const topic = topicName(given);
  // It would handle its own dead letters, without end.
  const own = topics.find((each) => (typeof each === 'string' ? each === topic : topic.search(each) >= 0));
  if (own === undefined) return { topic };
  const expected = `another topic than those which it handles, such as ${show(own)}`;
  throw wrongValue('KQ_BAD_OPTION', '`deadLetter`', topic, expected);
}

function checkNumber(what: string, value: unknown, least: number, most: number): void {
  wholeNumber('KQ_BAD_OPTION', what, value, least, most);
}
