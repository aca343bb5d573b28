/** Values as bytes, and back. */
import { isUtf8 } from 'node:buffer';
import { writeJson } from 'nest-handlers/schema';
import { KqError, show, wrongValue } from '../errors.js';

/** json: what JSON can hold; text: a string, as UTF-8; bytes: a Buffer. */
export type Format = 'json' | 'text' | 'bytes';

/** As messages say it. */
export const FORMATS = "'json', 'text' or 'bytes'";

export function isFormat(value: unknown): value is Format {
  return value === 'json' || value === 'text' || value === 'bytes';
}

/** A value as it is stored: null, a tombstone, as null. `KQ_BAD_MESSAGE`: the format cannot hold it. */
export function encodeValue(format: Format, value: unknown): Buffer | null {
  if (value === null) return null;
  if (value === undefined)
    throw bad(value, 'a value; for a tombstone, which deletes the key in a compacted topic, null');
  switch (format) {
    case 'json':
      return jsonOf(value);
    case 'text':
      if (typeof value !== 'string') throw bad(value, "a string, as the topic's format is 'text'");
      if (!isWhole(value)) throw bad(value, WHOLE_TEXT);
      return Buffer.from(value);
    case 'bytes':
      if (!(value instanceof Uint8Array)) throw bad(value, "a Buffer, as the topic's format is 'bytes'");
      return Buffer.from(value); // a copy: the caller may go on writing into its own
  }
}

/** The value again. `KQ_BAD_MESSAGE`: what is stored has another format. */
export function decodeValue(format: Format, stored: Buffer | null): unknown {
  if (stored === null || format === 'bytes') return stored;
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
export const WHOLE_TEXT = 'a string that UTF-8 can hold: half a character is in it';

/** Whether UTF-8 gives the text back as it was. */
export function isWhole(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

function jsonOf(value: unknown): Buffer {
  if (value instanceof Uint8Array)
    throw bad(value, "what JSON can hold; a topic of bytes is defineTopic(name, { format: 'bytes' })");
  const json = writeJson(value);
  if (typeof json === 'string') return Buffer.from(json);
  const { at, fact, cause } = json;
  throw new KqError('KQ_BAD_MESSAGE', `the value${at} ${fact}`, { cause });
}

function bad(value: unknown, expected: string): KqError {
  return wrongValue('KQ_BAD_MESSAGE', 'the value', value, expected);
}
