import { DqError, show } from '../errors.js';
import { isThenable } from '../structures/thenable.js';

/** json; bytes (a Buffer); text (a string); void (undefined). */
export type ContentType = 'json' | 'bytes' | 'text' | 'void';

/** Arrays and objects within each other. More of them than this overflow the stack of what looks through them, as `JSON.stringify`. */
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
  if (typeof payload === 'string') return { type: 'text', bytes: bytesOf(payload) };
  if (payload instanceof Uint8Array) {
    // A copy: the caller may go on writing into its own.
    return { type: 'bytes', bytes: Buffer.from(payload) };
  }
  let json: string | undefined;
  let loss: Loss | undefined;
  try {
    json = JSON.stringify(payload);
    loss = lossIn(payload);
  } catch (cause) {
    throw new DqError('DQ_BAD_PAYLOAD', `the payload cannot be written as JSON: ${String(cause)}`, { cause });
  }
  if (json === undefined) {
    const fact = `the payload is ${show(payload)}: expected what JSON can hold, a string, a Buffer or undefined`;
    throw new DqError('DQ_BAD_PAYLOAD', fact);
  }
  if (loss !== undefined) {
    const { at, what } = loss;
    const why = what === 'Promise' ? 'is an await missing?' : 'JSON keeps nothing of it, or not what matters';
    const fact = `the payload${at} is ${what === 'Error' ? 'an' : 'a'} ${what}: expected what JSON can hold; ${why}`;
    throw new DqError('DQ_BAD_PAYLOAD', fact);
  }
  if (isTooDeep(json)) throw tooDeep('the payload');
  return { type: 'json', bytes: bytesOf(json) };
}

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

/** The kinds of objects that JSON drops without an error, by their tags, which objects of other realms have too. */
const LOST = new Set(['Error', 'Map', 'Promise', 'RegExp', 'Set', 'WeakMap', 'WeakSet']);

/** A part of a payload that JSON drops without an error. */
interface Loss {
  readonly what: string;
  readonly at: string;
}

/**
 * Objects with `toJSON` are not looked into. Call it only after JSON.stringify has taken the value: it does not end on a
 * cycle. Each payload passes here, so the place is put together only when a loss is found.
 */
function lossIn(value: unknown): Loss | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const loss = lossIn(value[i]);
      if (loss) return { ...loss, at: `[${i}]${loss.at}` };
    }
    return undefined;
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  const what = lostKind(value);
  if (what !== undefined) return { what, at: '' };
  for (const name in value) {
    const part = (value as Record<string, unknown>)[name];
    if (typeof part !== 'object' || part === null || !Object.hasOwn(value, name)) continue;
    const loss = lossIn(part);
    if (loss) return { ...loss, at: `.${name}${loss.at}` };
  }
  return undefined;
}

function lostKind(value: object): string | undefined {
  if (isThenable(value)) return 'Promise';
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return undefined;
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return LOST.has(tag) ? tag : undefined;
}
