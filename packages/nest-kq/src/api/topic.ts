/** Topics as an application names them. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { show, wrongValue } from '../errors.js';
import { FORMATS, isFormat, type Format, type ValueFormat } from './format.js';
import { checkOptions } from './checks.js';
import { checkSchema } from './schema.js';
import { TOPIC_NAMES, isTopicName } from './topic-name.js';

/** A topic name with the types of its values: `In` is pushed, `Out` is what a handler gets. Created by `defineTopic`. */
export interface Topic<In = any, Out = any> {
  /** Name of the topic in Kafka. */
  readonly name: string;
  /** Storage format of the values. */
  readonly format: Format;
  /** Checks a value when it is pushed and before it is handled. */
  readonly schema?: StandardSchemaV1<unknown, Out>;
  /** Type-only; absent at run time. */
  readonly '~in'?: (value: In) => void;
  /** Type-only; absent at run time. */
  readonly '~out'?: () => Out;
}

/** Options of `defineTopic`. */
export interface TopicOptions {
  /** Storage format of the values. @default 'json' */
  format?: Format;
  /** Any Standard Schema, such as Zod's, Valibot's or ArkType's; may be asynchronous. @default none */
  schema?: StandardSchemaV1;
}

/**
 * Defines a topic whose values are checked by a schema. The schema sees a value as the handler will read it, for example after
 * JSON, and never a tombstone. A push it refuses rejects with `KQ_BAD_MESSAGE` and its issues; its output isn't stored. Before a
 * run its output becomes the value, and a message it refuses goes to the dead letters at once. A handler of the plain topic name
 * gets the stored value, unchecked. Errors as below.
 */
export function defineTopic<S extends StandardSchemaV1>(
  name: string,
  options: { schema: S; format?: Format },
): Topic<StandardSchemaV1.InferInput<S>, StandardSchemaV1.InferOutput<S>>;
/**
 * Defines a topic whose values are strings, stored as UTF-8, or bytes, as Buffers: `defineTopic('lines', { format: 'text' })`.
 * Errors as below.
 */
export function defineTopic(name: string, options: { format: 'text' }): Topic<string, string>;
export function defineTopic(name: string, options: { format: 'bytes' }): Topic<Uint8Array, Buffer>;
/** Defines a topic whose values are stored by a custom format or one of a schema registry. Errors as below. */
export function defineTopic<In, Out>(name: string, options: { format: ValueFormat<In, Out> }): Topic<In, Out>;
/**
 * Defines a topic and the type of its values, for pusher and handler alike: `const Orders = defineTopic<Order>('orders')`.
 * Values are stored as JSON. A handler gets the value after JSON: give `Out` where the type differs (a Date arrives as a
 * string). In every format, `null` is a tombstone.
 *
 * `KQ_BAD_TOPIC`: the name isn't 1 to 249 of `A-Z a-z 0-9 . _ -`, or is `.` or `..`. `KQ_BAD_OPTION`: an option is wrong.
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
  // An explicit undefined is a slip, and would check nothing.
  return 'schema' in options
    ? { name: checked, format, schema: checkSchema(options.schema, name) }
    : { name: checked, format };
}

const OPTIONS: readonly string[] = ['schema', 'format'] satisfies readonly (keyof TopicOptions)[];

/** Returns the name of a topic; throws `KQ_BAD_TOPIC`. */
export function topicName(topic: string | Topic): string {
  const name: unknown = typeof topic === 'object' && topic !== null ? topic.name : topic;
  if (isTopicName(name)) return name;
  const hint = topic === undefined ? '; circular import? The file it comes from may import this one' : '';
  throw wrongValue('KQ_BAD_TOPIC', 'the topic', name, TOPIC_NAMES + hint);
}

/** Returns the format of a topic; JSON for a plain name. */
export function formatOf(topic: string | Topic): Format {
  return typeof topic === 'object' ? topic.format : 'json';
}

/** Returns the schema of a topic, if any; a plain name has none. */
export function schemaOf(topic: string | Topic): StandardSchemaV1 | undefined {
  return typeof topic === 'object' ? topic.schema : undefined;
}

/** A topic name, a topic made by `defineTopic`, or all topics that match an expression. */
export type TopicChoice = string | RegExp | Topic;

/** The type of value a handler of the topic gets. */
export type ValueOf<T extends Topic> = T extends Topic<any, infer Out> ? Out : never;
