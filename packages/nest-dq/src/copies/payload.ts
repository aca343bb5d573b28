import { writeJson } from 'nest-handlers/schema';
import { EncodedPayload, type PayloadCodec, type TubeCodecs } from '../api/payload-codec.js';
import { DqError, show, wrongValue } from '../errors.js';
import { decodeWith, encodeWith, readEncoded, written, writtenAsText } from './encoded.js';

/** json, or what a codec wrote: see encoded.ts; bytes (a Buffer); text (a string); void (undefined). */
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
 * Encodes a payload: undefined as nothing, everything else with the codec; without one a Uint8Array and a string as is, everything
 * else as JSON. `DQ_BAD_PAYLOAD` if that can't represent it, or would silently drop a part of it.
 */
export function encodePayload(payload: unknown, codec?: PayloadCodec): Content {
  if (payload === undefined) return { type: 'void', bytes: '' };
  if (codec) return encoded(encodeWith(codec, payload));
  if (typeof payload === 'string') return { type: 'text', bytes: textOf(payload) };
  if (payload instanceof Uint8Array) {
    // Copied, because the caller may keep writing into its own.
    return { type: 'bytes', bytes: Buffer.from(payload) };
  }
  if (payload instanceof EncodedPayload) return encoded(written(payload.codec, payload.stored));
  const json = writeJson(payload);
  if (typeof json === 'string') return { type: 'json', bytes: bytesOf(json) };
  const { at, fact, cause } = json;
  throw new DqError('DQ_BAD_PAYLOAD', `the payload${at} ${fact}`, { cause });
}

function encoded(bytes: Buffer | string): Content {
  return { type: 'json', bytes: typeof bytes === 'string' ? textOf(bytes) : bytes };
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

/** Returns the payload as a codec wrote it; undefined if none did. */
export function encodedIn({ type, bytes }: Content): EncodedPayload | undefined {
  return type === 'json' ? readEncoded(bytes) : undefined;
}

/** Returns the same content without bytes that aren't text, if a codec wrote it. */
export function asText(content: Content): Content {
  const found = encodedIn(content);
  return found ? encoded(writtenAsText(found)) : content;
}

/**
 * Decodes a payload. `DQ_BAD_PAYLOAD` if it should be JSON but isn't, or if a codec wrote it that isn't among these.
 * @param codecs Those of its tube.
 */
export function decodePayload({ type, bytes }: Content, codecs?: TubeCodecs): unknown {
  switch (type) {
    case 'void':
      return undefined;
    case 'text':
      return bytes.toString();
    case 'bytes':
      return bytes;
    case 'json': {
      const found = readEncoded(bytes);
      return found ? decodeWith(codecs, found) : parsed(bytes.toString());
    }
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
