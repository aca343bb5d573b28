/** Failure handling of one handler: its options, their defaults and bounds. */
import type { Duration } from 'nest-handlers/time';
import { checkOptions, milliseconds, wholeNumber } from '../api/checks.js';
import { topicName, type Topic } from '../api/topic.js';
import { matchesAny } from '../driver/expressions.js';
import { show, wrongValue } from '../errors.js';
import { errorMatcher, type ErrorChoice } from './error-choice.js';
import { deadTopicOf } from '../driver/made-topics.js';

/** Options for failed runs. */
export interface FailureOptions {
  /** Timeout of a run. A longer run fails, and its signal aborts. 1 ms to a day. @default none */
  timeout?: Duration;
  /** Options of retries. */
  retry?: RetryOptions;
  /**
   * Where messages go that no run could handle, or a function that chooses by the error: a topic, which gets them with the
   * failure in their headers; `'dq'`, the dead letters of nest-dq, after one more run there; or `'drop'`, which only emits an
   * event. (A topic named `drop` is `defineTopic('drop')`.) A message that can't be stored there blocks its order and is
   * retried.
   * @default `'dq'` with `KqDqModule`, otherwise the topic `<topic>.<group>.kq-dead`, created on first use
   */
  deadLetter?: DeadLetterChoice | ((error: Error) => DeadLetterChoice);
}

/** A destination of dead letters. */
export type DeadLetterChoice = string | Topic;

/** Options of retries. */
export interface RetryOptions {
  /**
   * `'dq'`: a failed message becomes a job of nest-dq and counts as handled; the job runs it again, in any process. Requires
   * `KqDqModule` of `nest-kq/dq`. `'topics'`: the same with Kafka alone, by one topic per entry of `delays`. Either way nothing
   * waits for the message, and messages after it in its order overtake it.
   * @default in place, where messages after it in its order wait; with `KqDqModule`, and neither `attempts` nor a `deadLetter`,
   * 3 runs in place and then `'dq'`
   */
  through?: 'dq' | 'topics';
  /**
   * Max runs, including the first: 1 to 1,000,000, or Infinity; then the message becomes a dead letter. In place the count
   * restarts when the message is delivered again, to this or another process, for example after a restart or a rebalance. Not
   * with `'topics'`.
   * @default in place 3, through nest-dq 10
   */
  attempts?: number;
  /**
   * Delay after a failed run, up to a day, or a function that returns it; `attempt` counts from 1. Not with `'topics'`.
   * @default 1 s, doubling up to a minute; through nest-dq up to an hour
   */
  backoff?: Duration | ((attempt: number, error: Error) => Duration);
  /**
   * Delays after each failed run, 1 s to a day, up to 20 of them; only with `through: 'topics'`. After the last one the message
   * becomes a dead letter. @default ['10s', '1m', '10m']
   */
  delays?: readonly Duration[];
  /** Errors to retry: classes, or a predicate; any other error makes a dead letter at once. @default all */
  retryOn?: ErrorChoice;
  /** Errors not to retry: classes, or a predicate. @default none */
  notRetryOn?: ErrorChoice;
}

/** Where messages go that no run could handle. */
export type DeadLetterPlace = 'drop' | 'dq' | LetterTopic;

export interface LetterTopic {
  readonly topic: string;
  /** The topic whose messages it is created for if it doesn't exist; absent if it isn't created. */
  readonly madeFor?: string;
}

export interface FailureSettings {
  readonly timeout: number | undefined;
  readonly attempts: number;
  readonly backoff: (attempt: number, error: Error) => Duration;
  /** Returns false if the error isn't worth another run. */
  readonly retries: (error: Error) => boolean;
  /** Where failed messages wait for their next run, starting with run number `from`; undefined if in place. */
  readonly through: { readonly what: 'dq' | 'topics'; readonly from: number } | undefined;
  /** Delays of the retry topics, in ms; empty if there are none. */
  readonly delays: readonly number[];
  /** May throw, since it calls the application's function. */
  readonly deadLetter: (error: Error, topic: string) => DeadLetterPlace;
  /** The topic the options name for all dead letters, if any. */
  readonly letterTopic: string | undefined;
  /** The handler can't work without nest-dq. */
  readonly needsDq: boolean;
  /** Its messages may become jobs of nest-dq. */
  readonly usesDq: boolean;
}

/** The handler whose failures they are. */
export interface FailureOwner {
  readonly topics: readonly (string | RegExp)[];
  readonly group: string;
  /** `KqDqModule` is imported. */
  readonly dq: boolean;
}

const DAY = 86_400_000;
const NAMES: readonly string[] = [
  'timeout',
  'retry',
  'deadLetter',
] satisfies readonly (keyof FailureOptions)[];
const RETRY: readonly string[] = [
  'through',
  'attempts',
  'backoff',
  'delays',
  'retryOn',
  'notRetryOn',
] satisfies readonly (keyof RetryOptions)[];

const IN_PLACE = 3;
const THROUGH_DQ = 10;
const DELAYS: readonly Duration[] = ['10s', '1m', '10m'];
const MAX_DELAYS = 20;

/** Returns the delay in ms: 1 s, doubling up to a minute. */
export function defaultBackoff(attempt: number): number {
  return doubled(attempt, 60_000);
}

/** Grows up to an hour, since a job of nest-dq blocks nothing. */
function backoffThroughDq(attempt: number): number {
  return doubled(attempt, 3_600_000);
}

function doubled(attempt: number, most: number): number {
  return Math.min(1_000 * 2 ** Math.min(attempt - 1, 30), most);
}

/** Checks the options and fills in the defaults; throws `KQ_BAD_OPTION` or `KQ_BAD_TOPIC`. */
export function resolveFailureOptions(options: FailureOptions, owner: FailureOwner): FailureSettings {
  checkOptions('KQ_BAD_OPTION', 'the failures', options, NAMES);
  const { timeout, retry = {} } = options;
  checkOptions('KQ_BAD_OPTION', '`retry`', retry, RETRY);
  const through = throughOf(options, owner);
  const attempts = attemptsOf(retry, through);
  const { backoff = through?.what === 'dq' ? backoffThroughDq : defaultBackoff } = retry;
  const delays = delaysOf(retry, owner);
  const { deadLetter } = options;
  const needsDq = retry.through === 'dq' || deadLetter === 'dq';
  const chosenLater = typeof deadLetter === 'function' || (!deadLetter && through?.what !== 'topics');
  const retryOn = errorMatcher('`retry.retryOn`', retry.retryOn);
  const notRetryOn = errorMatcher('`retry.notRetryOn`', retry.notRetryOn);
  return {
    timeout: timeout === undefined ? undefined : time('`timeout`', timeout, 1),
    attempts: delays.length > 0 ? delays.length + 1 : attempts,
    backoff: backoffOf(backoff, delays),
    retries: (error) => (retryOn?.(error) ?? true) && !(notRetryOn?.(error) ?? false),
    through,
    delays,
    deadLetter: placesOf(deadLetter, through?.what, owner),
    letterTopic: namedTopic(deadLetter, owner),
    needsDq,
    usesDq: needsDq || (owner.dq && chosenLater),
  };
}

function throughOf({ retry = {}, deadLetter }: FailureOptions, { dq }: FailureOwner) {
  const { through, attempts } = retry;
  if (through === 'dq' || through === 'topics') return { what: through, from: 1 };
  if (through !== undefined) {
    const expected = "'dq', 'topics', or nothing for retries in place";
    throw wrongValue('KQ_BAD_OPTION', '`retry.through`', through, expected);
  }
  return dq && attempts === undefined && deadLetter === undefined
    ? ({ what: 'dq', from: IN_PLACE } as const)
    : undefined;
}

function attemptsOf({ attempts }: RetryOptions, through: FailureSettings['through']): number {
  if (attempts === undefined) return through?.what === 'dq' ? THROUGH_DQ : IN_PLACE;
  if (attempts === Infinity && !through) return attempts;
  return wholeNumber('KQ_BAD_OPTION', '`retry.attempts`', attempts, 1, 1_000_000);
}

/** Returns the delays of retry topics in ms; empty without retry topics. */
function delaysOf(retry: RetryOptions, { topics }: FailureOwner): readonly number[] {
  const { through, delays = DELAYS } = retry;
  if (through !== 'topics') {
    if (retry.delays === undefined) return [];
    throw wrongValue(
      'KQ_BAD_OPTION',
      '`retry.delays`',
      retry.delays,
      "this option only with `through: 'topics'`",
    );
  }
  for (const name of ['attempts', 'backoff'] as const)
    if (retry[name] !== undefined)
      throw wrongValue(
        'KQ_BAD_OPTION',
        `\`retry.${name}\``,
        retry[name],
        "`delays` instead, with `through: 'topics'`",
      );
  const expression = topics.find((topic) => topic instanceof RegExp);
  if (expression !== undefined)
    throw wrongValue(
      'KQ_BAD_OPTION',
      "a topic with `through: 'topics'`",
      expression,
      'names, not expressions',
    );
  if (!Array.isArray(delays) || delays.length === 0 || delays.length > MAX_DELAYS)
    throw wrongValue('KQ_BAD_OPTION', '`retry.delays`', delays, `a list of 1 to ${MAX_DELAYS} durations`);
  return delays.map((delay, index) => time(`\`retry.delays[${index}]\``, delay, 1_000));
}

function backoffOf(backoff: NonNullable<RetryOptions['backoff']>, delays: readonly number[]) {
  if (delays.length > 0) return (attempt: number) => delays[Math.min(attempt, delays.length) - 1]!;
  return typeof backoff === 'function' ? backoff : always(time('`retry.backoff`', backoff, 0));
}

function placesOf(
  given: FailureOptions['deadLetter'],
  through: 'dq' | 'topics' | undefined,
  owner: FailureOwner,
): FailureSettings['deadLetter'] {
  if (typeof given === 'function') return (error) => placeOf(given(error), owner);
  if (given !== undefined) return always(placeOf(given, owner));
  if (owner.dq && through !== 'topics') return always('dq' as const);
  if (through === 'dq') return always('dq' as const); // nest-dq is missing; startup reports that
  return (_, topic) => ({ topic: deadTopicOf(topic, owner.group), madeFor: topic });
}

function namedTopic(given: FailureOptions['deadLetter'], owner: FailureOwner): string | undefined {
  if (given === undefined || typeof given === 'function') return undefined;
  const place = placeOf(given, owner);
  return typeof place === 'string' ? undefined : place.topic;
}

function placeOf(given: DeadLetterChoice, { topics }: FailureOwner): DeadLetterPlace {
  if (given === 'drop' || given === 'dq') return given;
  const topic = topicName(given);
  // It would handle its own dead letters forever.
  const own = topics.find((each) => (typeof each === 'string' ? each === topic : matchesAny(topic, [each])));
  if (own === undefined) return { topic };
  const expected = `a topic the handler does not consume itself, as it does ${show(own)}`;
  throw wrongValue('KQ_BAD_OPTION', '`deadLetter`', topic, expected);
}

function time(what: string, value: unknown, least: number): number {
  return milliseconds('KQ_BAD_OPTION', what, value, least, DAY);
}

function always<T>(value: T): () => T {
  return () => value;
}
