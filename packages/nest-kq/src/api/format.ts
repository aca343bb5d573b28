/** Encoding of values as bytes, and back. */
import { isThenable } from 'nest-handlers/context';
import { isUtf8 } from 'node:buffer';
import { writeJson } from 'nest-handlers/schema';
import { KqError, show, toError, wrongValue } from '../errors.js';

/**
 * A custom format, or one of a schema registry (`nest-kq/registry`). Both functions may return a value or a promise; a plain
 * value is faster. An error they throw means the value or the bytes are permanently bad: `KQ_BAD_MESSAGE`. A `KqError` with the
 * code `KQ_REGISTRY` means the registry can't be asked right now: a push fails, and a received message waits, without using an
 * attempt, until it can be decoded.
 */
export interface ValueFormat<In = any, Out = In> {
  /** The name for error messages, such as `'avro'`. */
  readonly name: string;
  /** Returns the bytes to store. Never called for a tombstone. */
  encode(value: In, topic: string): Uint8Array | PromiseLike<Uint8Array>;
  /** Returns the value of stored bytes. Never called for a tombstone. */
  decode(stored: Buffer, topic: string): Out | PromiseLike<Out>;
}

type PlainFormat = 'json' | 'text' | 'bytes';

/** `'json'`: anything JSON can hold. `'text'`: a string, stored as UTF-8. `'bytes'`: a Buffer. Or a custom format. */
export type Format = PlainFormat | ValueFormat;

/** The valid formats, for error messages. */
export const FORMATS = "'json', 'text', 'bytes', or an object with name, encode and decode";

export function isFormat(value: unknown): value is Format {
  return value === 'json' || value === 'text' || value === 'bytes' || isValueFormat(value);
}

function isValueFormat(value: unknown): value is ValueFormat {
  if (typeof value !== 'object' || value === null) return false;
  const { name, encode, decode } = value as Partial<ValueFormat>;
  return typeof name === 'string' && typeof encode === 'function' && typeof decode === 'function';
}

/**
 * Returns a value as it is stored; null (a tombstone) stays null. Throws or rejects with `KQ_BAD_MESSAGE` if the format can't
 * hold it, or with `KQ_REGISTRY`. Only a `ValueFormat` returns a promise.
 */
export function encodeValue(
  format: Format,
  value: unknown,
  topic: string,
): Buffer | null | Promise<Buffer | null> {
  if (value === null) return null;
  if (value === undefined)
    throw bad(value, 'a value, or null for a tombstone, which deletes the key in a compacted topic');
  return typeof format === 'string'
    ? encodePlain(format, value)
    : asked(
        () => format.encode(value, topic),
        (bytes) => bytesOf(format, bytes),
        `the format ${show(format.name)} cannot encode a value of ${show(topic)}`,
      );
}

/**
 * Returns the decoded value. Throws or rejects with `KQ_BAD_MESSAGE` if the bytes are in another format, or with `KQ_REGISTRY`.
 */
export function decodeValue(format: Format, stored: Buffer | null, topic: string): unknown {
  if (stored === null) return null;
  return typeof format === 'string'
    ? decodePlain(format, stored)
    : asked(
        () => format.decode(stored, topic),
        (value: unknown) => value,
        `the format ${show(format.name)} cannot decode a value of ${show(topic)}`,
      );
}

/** Calls a custom format, sync or async, and wraps its errors in a `KqError`. */
function asked<Given, Made>(
  ask: () => Given | PromiseLike<Given>,
  make: (given: Given) => Made,
  trouble: string,
): Made | Promise<Made> {
  const fail = (thrown: unknown): never => {
    if (thrown instanceof KqError) throw thrown;
    const cause = toError(thrown);
    throw new KqError('KQ_BAD_MESSAGE', `${trouble}: ${cause.message}`, { cause });
  };
  try {
    const answer = ask();
    return isThenable(answer) ? Promise.resolve(answer).then(make).catch(fail) : make(answer);
  } catch (thrown) {
    return fail(thrown);
  }
}

function bytesOf({ name }: ValueFormat, bytes: unknown): Buffer {
  if (bytes instanceof Uint8Array)
    return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  throw wrongValue('KQ_BAD_MESSAGE', `the result of encode in the format ${show(name)}`, bytes, 'a Buffer');
}

function encodePlain(format: PlainFormat, value: unknown): Buffer {
  switch (format) {
    case 'json':
      return jsonOf(value);
    case 'text':
      if (typeof value !== 'string') throw bad(value, "a string, since the topic's format is 'text'");
      if (!isWhole(value)) throw bad(value, WHOLE_TEXT);
      return Buffer.from(value);
    case 'bytes':
      if (!(value instanceof Uint8Array)) throw bad(value, "a Buffer, since the topic's format is 'bytes'");
      return Buffer.from(value); // a copy: the caller may reuse its buffer
  }
}

function decodePlain(format: PlainFormat, stored: Buffer): unknown {
  if (format === 'bytes') return stored;
  if (!isUtf8(stored)) throw wrongValue('KQ_BAD_MESSAGE', 'the stored value', stored, 'UTF-8');
  const text = stored.toString();
  if (format === 'text') return text;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new KqError('KQ_BAD_MESSAGE', `the stored value is ${show(text)}: expected JSON`, { cause });
  }
}

const LONE_SURROGATE = /\p{Surrogate}/u;
export const WHOLE_TEXT = 'a valid Unicode string: it has a lone surrogate (half a character)';

/** Whether the string survives a round trip through UTF-8. */
export function isWhole(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

function jsonOf(value: unknown): Buffer {
  if (value instanceof Uint8Array)
    throw bad(value, "a JSON value; for a topic of bytes use defineTopic(name, { format: 'bytes' })");
  const json = writeJson(value);
  if (typeof json === 'string') return Buffer.from(json);
  const { at, fact, cause } = json;
  throw new KqError('KQ_BAD_MESSAGE', `the value${at} ${fact}`, { cause });
}

function bad(value: unknown, expected: string): KqError {
  return wrongValue('KQ_BAD_MESSAGE', 'the value', value, expected);
}
