/** Topics as an application names them. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { show, wrongValue } from '../errors.js';
import { FORMATS, isFormat, type Format, type ValueFormat } from './format.js';
import { checkOptions } from './checks.js';
import { checkSchema } from './schema.js';
import { TOPIC_NAMES, isTopicName } from './topic-name.js';

/** A name with a type of its values: `In` is what is pushed, `Out` what a handler gets. Made by `defineTopic`. */
export interface Topic<In = any, Out = any> {
  readonly name: string;
  /** How its values are stored. */
  readonly format: Format;
  /** Checks a value when it is pushed and before it is handled. */
  readonly schema?: StandardSchemaV1<unknown, Out>;
  /** Carries the types only; absent at run time. */
  readonly '~in'?: (value: In) => void;
  /** Carries the types only; absent at run time. */
  readonly '~out'?: () => Out;
}

/** What `defineTopic` takes beside the name. */
export interface TopicOptions {
  /** How its values are stored. @default 'json' */
  format?: Format;
  /** Any Standard Schema, such as Zod's, Valibot's or ArkType's, also an asynchronous one. @default none */
  schema?: StandardSchemaV1;
}

/**
 * Names a topic whose values a schema checks. It gets a value as the handler will read it, such as after JSON, but no
 * tombstone. A push that it refuses is `KQ_BAD_MESSAGE` with its issues; its output is not stored. Before a run its output
 * becomes the value, and a message that it refuses goes to the dead letters at once. A handler of the topic's plain name
 * gets the stored value, unchecked. Errors as below.
 */
export function defineTopic<S extends StandardSchemaV1>(
  name: string,
  options: { schema: S; format?: Format },
): Topic<StandardSchemaV1.InferInput<S>, StandardSchemaV1.InferOutput<S>>;
/**
 * Names a topic whose values are texts, in UTF-8, or bytes, as Buffers: `defineTopic('lines', { format: 'text' })`.
 * Errors as below.
 */
export function defineTopic(name: string, options: { format: 'text' }): Topic<string, string>;
export function defineTopic(name: string, options: { format: 'bytes' }): Topic<Uint8Array, Buffer>;
/** Names a topic whose values a format of your own or of a schema registry stores. Errors as below. */
export function defineTopic<In, Out>(name: string, options: { format: ValueFormat<In, Out> }): Topic<In, Out>;
/**
 * Names a topic and says what its values are, for pusher and handler alike: `const Orders = defineTopic<Order>('orders')`.
 * The values are stored as JSON. A handler gets what JSON makes of a value: give `Out` where that is another type (a Date
 * arrives as a string). In every format, `null` is a tombstone.
 *
 * `KQ_BAD_TOPIC`: the name is not 1 to 249 of `A-Z a-z 0-9 . _ -`, or is `.` or `..`. `KQ_BAD_OPTION`: an option is wrong.
 */
export function defineTopic<In = unknown, Out = In>(
  name: string,
  options?: { format?: 'json' },
): Topic<In, Out>;
export function defineTopic(name: string, options: TopicOptions = {}): Topic {
  const checked = topicName(name);
  const call = `defineTopic(${show(name)})`;
  checkOptions('KQ_BAD_OPTION', call, options, OPTIONS);
  const { format = 'json' } = options;
  if (!isFormat(format)) throw wrongValue('KQ_BAD_OPTION', `\`format\` of ${call}`, format, FORMATS);
  // Given but undefined is a slip, and would check nothing.
  return 'schema' in options
    ? { name: checked, format, schema: checkSchema(options.schema, name) }
    : { name: checked, format };
}

const OPTIONS: readonly string[] = ['schema', 'format'] satisfies readonly (keyof TopicOptions)[];

/** The name of a topic; `KQ_BAD_TOPIC`. */
export function topicName(topic: string | Topic): string {
  const name: unknown = typeof topic === 'object' && topic !== null ? topic.name : topic;
  if (isTopicName(name)) return name;
  const hint =
    topic === undefined
      ? '; is it imported from a file that imports this one, so that it is not defined yet?'
      : '';
  throw wrongValue('KQ_BAD_TOPIC', 'the topic', name, TOPIC_NAMES + hint);
}

/** A plain name has JSON. */
export function formatOf(topic: string | Topic): Format {
  return typeof topic === 'object' ? topic.format : 'json';
}

/** The schema of a topic, if it has one; a plain name has none. */
export function schemaOf(topic: string | Topic): StandardSchemaV1 | undefined {
  return typeof topic === 'object' ? topic.schema : undefined;
}

/** A topic by its name, or as `defineTopic` made it, or all topics that match. */
export type TopicChoice = string | RegExp | Topic;

/** What a handler of the topic gets. */
export type ValueOf<T extends Topic> = T extends Topic<any, infer Out> ? Out : never;
