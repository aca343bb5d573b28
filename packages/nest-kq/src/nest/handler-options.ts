/** Options of `@TopicHandler`, their defaults and bounds. */
import type { Duration } from 'nest-handlers/time';
import { checkOptions, milliseconds, wholeNumber } from '../api/checks.js';
import { topicName, type TopicChoice } from '../api/topic.js';
import type { Order } from '../consumer/lanes.js';
import { KqError, wrongValue } from '../errors.js';
import {
  resolveFailureOptions,
  type FailureOptions,
  type FailureSettings,
} from '../failures/failure-options.js';
import { asConfigError, checkOneOf, checkText } from './option-checks.js';

/** Options of batches. */
export interface BatchOptions {
  /** Max messages of a batch, all from one partition, 1 to 10,000. */
  size: number;
  /** How long an incomplete batch waits to fill up, 0 to a minute. @default '100ms' */
  within?: Duration;
}

/** Options of `@TopicHandler`. */
export interface TopicHandlerOptions extends FailureOptions {
  /** The consumer group. @default the module's `group` */
  group?: string;
  /** Max concurrent runs in this process, over all partitions, 1 to 10,000. @default 16 */
  concurrency?: number;
  /**
   * Which messages run one after the other: those of a key, those of a partition, or none. With `key`, messages without a key
   * have no order. @default 'key'
   */
  order?: Order;
  /**
   * Max messages of each partition held in this process, counted from the first unhandled one, 1 to 1,000,000. At the limit the
   * partition isn't fetched until that message is handled. At least twice `batch.size`.
   * @default 1,000
   */
  lookAhead?: number;
  /** Makes the handler take batches. @default one message at a time */
  batch?: BatchOptions;
  /**
   * Where a group starts in a topic it has no offset for: at the first stored message or after the last one. The same for all
   * handlers of a group. @default 'first'
   */
  from?: 'first' | 'last';
  /** Cluster name. @default the cluster without a name */
  cluster?: string;
}

/** Resolved `BatchOptions`; `within` is in ms. */
export interface BatchSettings {
  readonly size: number;
  readonly within: number;
}

/** Handler options, checked and with defaults. */
export interface HandlerSettings {
  readonly topics: readonly TopicChoice[];
  readonly group: string;
  readonly concurrency: number;
  readonly order: Order;
  readonly lookAhead: number;
  readonly from: 'first' | 'last';
  /** Undefined for a handler of single messages. */
  readonly batch: BatchSettings | undefined;
  readonly failures: FailureSettings;
}

const DEFAULTS = {
  concurrency: 16,
  order: 'key',
  lookAhead: 1_000,
  from: 'first',
} satisfies TopicHandlerOptions;

/** All option names; the documentation is checked against them. */
export const HANDLER_OPTION_NAMES: readonly string[] = Object.keys({
  group: true,
  concurrency: true,
  order: true,
  lookAhead: true,
  batch: true,
  from: true,
  timeout: true,
  retry: true,
  deadLetter: true,
  cluster: true,
} satisfies Record<keyof TopicHandlerOptions, true>);

/**
 * Checks the options and fills in the defaults; throws `KQ_CONFIG`. `group` is the module's. `dq`: whether `KqDqModule` is
 * imported.
 */
export function resolveHandler(
  topics: unknown,
  options: TopicHandlerOptions = {},
  group: string | undefined,
  dq = false,
): HandlerSettings {
  checkOptions('KQ_CONFIG', 'the handler', options, HANDLER_OPTION_NAMES);
  const checked = (Array.isArray(topics) ? topics : [topics]).map(checkTopic);
  if (checked.length === 0) throw wrongValue('KQ_CONFIG', 'the list of topics', topics, 'at least one');
  const { concurrency, order, lookAhead, from, timeout, retry, deadLetter } = options;
  const own = groupOf(options, group);
  const owner = { topics: checked.map(patternOf), group: own, dq };
  const batch = options.batch === undefined ? undefined : resolveBatch(options.batch);
  return {
    topics: checked,
    group: own,
    concurrency: number('concurrency', concurrency ?? DEFAULTS.concurrency, 1, 10_000),
    order: checkOneOf('order', order ?? DEFAULTS.order, ['key', 'partition', 'none']),
    // A batch as large as the look-ahead couldn't fill up while a message is unhandled.
    lookAhead: Math.max(
      number('lookAhead', lookAhead ?? DEFAULTS.lookAhead, 1, 1_000_000),
      2 * (batch?.size ?? 0),
    ),
    from: checkOneOf('from', from ?? DEFAULTS.from, ['first', 'last']),
    batch,
    failures: asConfigError('', () => resolveFailureOptions({ timeout, retry, deadLetter }, owner)),
  };
}

/** Returns a topic as the consumer identifies it. */
export function patternOf(topic: TopicChoice): string | RegExp {
  return topic instanceof RegExp ? topic : topicName(topic);
}

function checkTopic(topic: unknown): TopicChoice {
  if (topic instanceof RegExp) return topic;
  asConfigError('', () => topicName(topic as TopicChoice & string));
  return topic as TopicChoice;
}

function groupOf(options: TopicHandlerOptions, ofModule: string | undefined): string {
  const group = options.group ?? ofModule;
  if (group !== undefined) return checkText('group', group);
  throw new KqError(
    'KQ_CONFIG',
    'it has no `group`: set one in its options, or in the KqModule options for all handlers',
  );
}

function resolveBatch(batch: BatchOptions): BatchSettings {
  checkOptions('KQ_CONFIG', '`batch`', batch, ['size', 'within']);
  return {
    size: number('batch.size', batch.size, 1, 10_000),
    within: milliseconds('KQ_CONFIG', '`batch.within`', batch.within ?? '100ms', 0, 60_000),
  };
}

function number(name: string, value: unknown, least: number, most: number): number {
  return wholeNumber('KQ_CONFIG', `\`${name}\``, value, least, most);
}
