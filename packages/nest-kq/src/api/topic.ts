/** Topics as an application names them. */
import { show, unknownName, wrongValue } from '../errors.js';
import { FORMATS, isFormat, type Format } from './format.js';
import { TOPIC_NAMES, isTopicName } from './topic-name.js';

/** A name with a type of its values: `In` is what is pushed, `Out` what a handler gets. Made by `defineTopic`. */
export interface Topic<In = any, Out = any> {
  readonly name: string;
  /** How its values are stored. */
  readonly format: Format;
  /** Carries the types only; absent at run time. */
  readonly '~in'?: (value: In) => void;
  /** Carries the types only; absent at run time. */
  readonly '~out'?: () => Out;
}

/** What `defineTopic` takes beside the name. */
export interface TopicOptions<F extends Format = Format> {
  /** How its values are stored. @default 'json' */
  format?: F;
}

/**
 * Names a topic whose values are texts, in UTF-8, or bytes, as Buffers: `defineTopic('lines', { format: 'text' })`.
 * Errors as below.
 */
export function defineTopic(name: string, options: { format: 'text' }): Topic<string, string>;
export function defineTopic(name: string, options: { format: 'bytes' }): Topic<Uint8Array, Buffer>;
/**
 * Names a topic and says what its values are, for pusher and handler alike: `const Orders = defineTopic<Order>('orders')`.
 * The values are stored as JSON. A handler gets what JSON makes of a value: give `Out` where that is another type (a Date
 * arrives as a string). In every format, `null` is a tombstone.
 *
 * `KQ_BAD_TOPIC`: the name is not 1 to 249 of `A-Z a-z 0-9 . _ -`, or is `.` or `..`. `KQ_BAD_OPTION`: an option is wrong.
 */
export function defineTopic<In = unknown, Out = In>(
  name: string,
  options?: TopicOptions<'json'>,
): Topic<In, Out>;
export function defineTopic(name: string, options: TopicOptions = {}): Topic {
  const checked = topicName(name);
  const call = `the options of defineTopic(${show(name)})`;
  if (typeof options !== 'object' || options === null)
    throw wrongValue('KQ_BAD_OPTION', call, options, '{ format? }');
  const unknown = Object.keys(options).find((field) => field !== 'format');
  if (unknown !== undefined) throw unknownName('KQ_BAD_OPTION', `${show(unknown)} in ${call}`, ['format']);
  const { format = 'json' } = options;
  if (!isFormat(format)) throw wrongValue('KQ_BAD_OPTION', `\`format\` in ${call}`, format, FORMATS);
  return { name: checked, format };
}

/** The name of a topic; `KQ_BAD_TOPIC`. */
export function topicName(topic: string | Topic): string {
  const name: unknown = typeof topic === 'object' && topic !== null ? topic.name : topic;
  if (isTopicName(name)) return name;
  throw wrongValue('KQ_BAD_TOPIC', 'the topic', name, TOPIC_NAMES);
}

/** A plain name has JSON. */
export function formatOf(topic: string | Topic): Format {
  return typeof topic === 'object' ? topic.format : 'json';
}

/** What a handler of the topic gets. */
export type ValueOf<T extends Topic> = T extends Topic<any, infer Out> ? Out : never;
