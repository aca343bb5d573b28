/** Pushed messages in the form the log stores. */
import { checkOptions, wholeNumber } from '../api/checks.js';
import { encodeValue, isWhole, WHOLE_TEXT } from '../api/format.js';
import type { MessageOptions } from '../api/message.js';
import { readValue, type ReadValue } from '../api/read-value.js';
import { formatOf, schemaOf, type Topic } from '../api/topic.js';
import { hasFieldsOnly } from 'nest-handlers/schema';
import type { Headers, OutgoingMessage } from '../driver/message.js';
import { KqError, show, toError, wrongValue } from '../errors.js';

/** Errors are values. Only a promise if the format or the schema is asynchronous; it never rejects. */
export type Prepared = OutgoingMessage | KqError;

const OPTIONS: readonly string[] = [
  'key',
  'headers',
  'partition',
  'timestamp',
  'delay',
  'at',
] satisfies readonly (keyof MessageOptions)[];
const BYTES = 'a string or a Buffer';
const LAST_PARTITION = 2 ** 31 - 1;
/** Last valid Date, in ms since 1970. */
const LAST_TIME = 8.64e15;

/** Checks a message, and its value against the topic's schema, as a handler will read it. */
export function prepare(
  topic: string | Topic,
  name: string,
  value: unknown,
  options: MessageOptions,
): Prepared | PromiseLike<Prepared> {
  try {
    const rest = checkedOptions(options);
    const encoded = encodeValue(formatOf(topic), value, name);
    const check = (bytes: Buffer | null) => checkValue(topic, name, { value: bytes, ...rest });
    return encoded instanceof Promise ? encoded.then(check).catch(refusalIn) : check(encoded);
  } catch (error) {
    return refusalIn(error);
  }
}

function refusalIn(error: unknown): KqError {
  if (error instanceof KqError) return error;
  throw error;
}

function checkValue(
  topic: string | Topic,
  name: string,
  message: OutgoingMessage,
): Prepared | PromiseLike<Prepared> {
  if (!schemaOf(topic)) return message;
  const failed = (thrown: unknown) => (thrown instanceof KqError ? thrown : schemaFailed(name, thrown));
  let read: ReadValue | PromiseLike<ReadValue>;
  try {
    read = readValue(topic, name, message.value);
  } catch (thrown) {
    return failed(thrown);
  }
  if (!('then' in read)) return read instanceof KqError ? read : message;
  return read.then((later) => (later instanceof KqError ? later : message), failed);
}

function schemaFailed(name: string, thrown: unknown): KqError {
  const cause = toError(thrown);
  return new KqError('KQ_BAD_MESSAGE', `the schema of ${show(name)} failed: ${cause.message}`, { cause });
}

function checkedOptions(options: MessageOptions): Omit<OutgoingMessage, 'value'> {
  checkOptions('KQ_BAD_MESSAGE', 'a message', options, OPTIONS);
  const { headers, partition, timestamp, delay, at } = options;
  if (delay !== undefined || at !== undefined)
    throw new KqError('KQ_BAD_MESSAGE', '`delay` and `at` work only with `push`, one message at a time');
  return {
    key: keyOf(options),
    ...(headers === undefined ? {} : { headers: headersOf(headers) }),
    ...(partition === undefined ? {} : { partition: numberOf('`partition`', partition, LAST_PARTITION) }),
    ...(timestamp === undefined ? {} : { timestamp: numberOf('`timestamp`', timestamp, LAST_TIME) }),
  };
}

function keyOf(options: MessageOptions): Buffer | null {
  // A key left undefined by mistake would silently lose its order.
  if (!('key' in options) || options.key === null) return null;
  return bytesOf('`key`', options.key, `${BYTES}, or no \`key\` at all`);
}

function headersOf(headers: NonNullable<MessageOptions['headers']>): Headers {
  // A Map or fetch's Headers keeps its entries elsewhere; all of them would be lost.
  if (typeof headers !== 'object' || headers === null || !hasFieldsOnly(headers))
    throw bad('`headers`', headers, 'an object of names and values');
  const entries = Object.entries(headers).map(([name, given]) => {
    const what = `the header ${show(name)}`;
    const expected = `${BYTES}, or a non-empty list of them`;
    if (!Array.isArray(given)) return [name, bytesOf(what, given, expected)] as const;
    if (given.length === 0) throw bad(what, given, expected);
    return [name, given.map((each: unknown) => bytesOf(`a value of ${what}`, each, BYTES))] as const;
  });
  return Object.fromEntries(entries);
}

/** Copies bytes: the caller may reuse its buffer. */
function bytesOf(what: string, given: unknown, expected: string): Buffer {
  if (given instanceof Uint8Array) return Buffer.from(given);
  if (typeof given !== 'string') throw bad(what, given, expected);
  if (isWhole(given)) return Buffer.from(given);
  throw bad(what, given, WHOLE_TEXT);
}

function numberOf(what: string, given: unknown, most: number): number {
  return wholeNumber('KQ_BAD_MESSAGE', what, given, 0, most);
}

function bad(what: string, given: unknown, expected: string): KqError {
  return wrongValue('KQ_BAD_MESSAGE', what, given, expected);
}
