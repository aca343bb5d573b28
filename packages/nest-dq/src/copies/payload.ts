import { writeJson } from 'nest-handlers/schema';
import { DqError, show, wrongValue } from '../errors.js';

/** json; bytes (a Buffer); text (a string); void (undefined). */
export type ContentType = 'json' | 'bytes' | 'text' | 'void';

/** Arrays and objects within each other, as at the write. More of them overflow the stack of what looks through them. */
const DEEPEST = 1_000;

/** A payload as it is stored. */
export interface Content {
  readonly type: ContentType;
  /** A text is ASCII, so that its length is its size: it goes to the socket as it is, which costs less than a Buffer. */
  readonly bytes: Buffer | string;
}

/**
 * A payload as bytes: a Uint8Array and a string as they are, undefined as nothing, everything else as JSON.
 * `DQ_BAD_PAYLOAD`: JSON cannot hold it, or would silently drop a part of it.
 */
export function encodePayload(payload: unknown): Content {
  if (payload === undefined) return { type: 'void', bytes: '' };
  if (typeof payload === 'string') return { type: 'text', bytes: textOf(payload) };
  if (payload instanceof Uint8Array) {
    // A copy: the caller may go on writing into its own.
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
    'a string that UTF-8 can hold: half a character is in it',
  );
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function bytesOf(text: string): Buffer | string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text);
}

/** The payload again. `DQ_BAD_PAYLOAD`: it should be JSON and is not. */
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
    const fact = `the stored payload is no JSON: ${show(json.slice(0, 100))}`;
    throw new DqError('DQ_BAD_PAYLOAD', fact, { cause });
  }
}

/** Each level takes two characters at least, so most texts need no look. Brackets in texts do not count. */
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

/** Where the text ends that begins here. */
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
