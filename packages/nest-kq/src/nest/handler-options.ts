/** What a `@TopicHandler` may say, its defaults and bounds. */
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

/** How batches are gathered. */
export interface BatchOptions {
  /** The most messages of one batch, all of one partition, 1 to 10,000. */
  size: number;
  /** How long a batch waits for so many, 0 to a minute. @default '100ms' */
  within?: Duration;
}

/** What `@TopicHandler` takes beside its topics. */
export interface TopicHandlerOptions extends FailureOptions {
  /** The consumer group. @default the module's `group` */
  group?: string;
  /** How many runs there may be at a time in this process, over all partitions, 1 to 10,000. @default 16 */
  concurrency?: number;
  /**
   * What runs one after the other: the messages of a key, or of a partition, or nothing. With `key`, messages without a key
   * have no order. @default 'key'
   */
  order?: Order;
  /**
   * How many messages of each partition may be in this process from the first one that is not handled on, handled or not, 1 to
   * 1,000,000. Beyond that the partition fetches nothing more until that message is handled. At least twice the `batch.size`.
   * @default 1,000
   */
  lookAhead?: number;
  /** The handler gets messages by the batch. @default one by one */
  batch?: BatchOptions;
  /**
   * Where a group begins in a topic that is new to it: at the first message that is stored, or behind the last one. All
   * handlers of a group have the same. @default 'first'
   */
  from?: 'first' | 'last';
  /** The name of the cluster. @default the one without a name */
  cluster?: string;
}

/** `within`: milliseconds. */
export interface BatchSettings {
  readonly size: number;
  readonly within: number;
}

/** The options of a handler after they were checked and filled. */
export interface HandlerSettings {
  readonly topics: readonly TopicChoice[];
  readonly group: string;
  readonly concurrency: number;
  readonly order: Order;
  readonly lookAhead: number;
  readonly from: 'first' | 'last';
  /** Undefined: one by one. */
  readonly batch: BatchSettings | undefined;
  readonly failures: FailureSettings;
}

const DEFAULTS = {
  concurrency: 16,
  order: 'key',
  lookAhead: 1_000,
  from: 'first',
} satisfies TopicHandlerOptions;

/** Every option; the documentation is checked against it. */
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

/** `KQ_CONFIG`. `group`: the module's. `dq`: whether `KqDqModule` is there. */
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
    // A batch that fills it all could not gather while one is not handled.
    lookAhead: Math.max(
      number('lookAhead', lookAhead ?? DEFAULTS.lookAhead, 1, 1_000_000),
      2 * (batch?.size ?? 0),
    ),
    from: checkOneOf('from', from ?? DEFAULTS.from, ['first', 'last']),
    batch,
    failures: asConfigError('', () => resolveFailureOptions({ timeout, retry, deadLetter }, owner)),
  };
}

/** A topic as the consumer knows it. */
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
    'it has no `group`: expected one in its options, or in those of KqModule for all handlers',
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
