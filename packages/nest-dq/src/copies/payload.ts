import { writeJson } from 'nest-handlers/schema';
import { DqError, show, wrongValue } from '../errors.js';

/** json; bytes (a Buffer); text (a string); void (undefined). */
export type ContentType = 'json' | 'bytes' | 'text' | 'void';

/** Max nesting of arrays and objects, the same as when writing. Deeper ones overflow the stack of whatever walks them. */
const DEEPEST = 1_000;

/** A payload as stored. */
export interface Content {
  readonly type: ContentType;
  /** A string is ASCII, so that its length is its size in bytes: it is sent to the socket as is, which is cheaper than a Buffer. */
  readonly bytes: Buffer | string;
}

/**
 * Encodes a payload: a Uint8Array and a string as is, undefined as nothing, everything else as JSON. `DQ_BAD_PAYLOAD` if JSON
 * can't represent it, or would silently drop a part of it.
 */
export function encodePayload(payload: unknown): Content {
  if (payload === undefined) return { type: 'void', bytes: '' };
  if (typeof payload === 'string') return { type: 'text', bytes: textOf(payload) };
  if (payload instanceof Uint8Array) {
    // Copied, because the caller may keep writing into its own.
    return { type: 'bytes', bytes: Buffer.from(payload) };
  }
  const json = writeJson(payload);
  if (typeof json === 'string') return { type: 'json', bytes: bytesOf(json) };
  const { at, fact, cause } = json;
  throw new DqError('DQ_BAD_PAYLOAD', `the payload${at} ${fact}`, { cause });
}

function textOf(text: string): Buffer | string {
  const bytes = bytesOf(text);
  if (typeof bytes === 'string' || !LONE_SURROGATE.test(text)) return bytes;
  throw wrongValue(
    'DQ_BAD_PAYLOAD',
    'the payload',
    text,
    'a valid Unicode string: it has a lone surrogate (half a character)',
  );
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function bytesOf(text: string): Buffer | string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text);
}

/** Decodes a payload. `DQ_BAD_PAYLOAD` if it should be JSON but isn't. */
export function decodePayload({ type, bytes }: Content): unknown {
  switch (type) {
    case 'void':
      return undefined;
    case 'text':
      return bytes.toString();
    case 'bytes':
      return bytes;
    case 'json':
      return parsed(bytes.toString());
  }
}

function parsed(json: string): unknown {
  if (isTooDeep(json)) throw tooDeep('the stored payload');
  try {
    return JSON.parse(json);
  } catch (cause) {
    const fact = `the stored payload is not valid JSON: ${show(json.slice(0, 100))}`;
    throw new DqError('DQ_BAD_PAYLOAD', fact, { cause });
  }
}

/** Each level takes at least two characters, so most payloads need no scan. Brackets in strings don't count. */
function isTooDeep(json: string): boolean {
  if (json.length <= 2 * DEEPEST) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const char = json[at];
    if (char === '"') at = endOfText(json, at);
    else if (char === '[' || char === '{') depth++;
    else if (char === ']' || char === '}') depth--;
    if (depth > DEEPEST) return true;
  }
  return false;
}

/** Returns the end of the string that starts here. */
function endOfText(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end > 0; end = json.indexOf('"', end + 1)) {
    let escapes = end;
    while (json[escapes - 1] === '\\') escapes--;
    if ((end - escapes) % 2 === 0) return end;
  }
  return json.length;
}

function tooDeep(what: string): DqError {
  return new DqError(
    'DQ_BAD_PAYLOAD',
    `${what} has more than ${DEEPEST} levels of arrays and objects: expected fewer`,
  );
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
