/**
 * The bytes of a copy: `dq1 `, a header of one line of compact JSON, a line feed, the payload's bytes.
 *
 * To change the format:
 * 1. Copies wait for months, and processes of two versions run side by side: what was written must stay readable.
 * 2. A new field of the header must be optional, and an old reader must be right when it ignores it.
 * 3. Anything else is a new mark (`dq2 `): first release a version that reads both, then one that writes the new one.
 * 4. `unwrap` refuses a mark that it does not know; such a copy is buried and reported, never dropped.
 * 5. Keep the specs of every mark that was ever written.
 */
import { asciiJson } from '../structures/ascii-json.js';
import type { ResolvedBackoff } from '../time/backoff.js';
import { DqError, show } from '../errors.js';
import { findLoss } from './json-loss.js';
import type { Place } from './location.js';
import { FIRST_TIMESTAMP } from '../time/duration.js';

const MARK = 'dq1 ';
const MARK_BYTES = Buffer.from(MARK).readUInt32BE();
const LINE_FEED = 0x0a;

/** What all copies of a job have in common. */
export interface JobHeader {
  readonly id: string;
  /** Ledger time, ms. */
  readonly due: number;
  /** 0 for the first of a plain job. */
  readonly generation: number;
  /** The generation of the add: another one than `generation` if the job was moved since. @default the generation */
  readonly born?: number;
  /** The user's name for the job. */
  readonly key?: string;
  /** How many copies were meant to be stored. */
  readonly copies: number;
  /** 0 high, 1 normal, 2 low. */
  readonly priority: number;
  readonly attempts?: number;
  readonly backoff?: ResolvedBackoff;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CopyHeader extends JobHeader {
  readonly born: number;
  /** 0 is the primary. */
  readonly index: number;
  /** In the primary: the other copies, those of puts with an unknown outcome too. */
  readonly siblings: readonly Place[];
}

/** json; bytes (a Buffer); text (a string); void (undefined). */
export type ContentType = 'json' | 'bytes' | 'text' | 'void';

export interface Content {
  readonly type: ContentType;
  /** A text is ASCII, so that its length is its size: it goes to the socket as it is, which costs less than a Buffer. */
  readonly bytes: Buffer | string;
}

export interface Envelope {
  readonly header: CopyHeader;
  readonly content: Content;
}

/** The header on the wire: short names, and what is usual is left out. */
interface WireHeader {
  id: string;
  due: number;
  n: number;
  i: number;
  /** generation, unless 0 */
  g?: number;
  /** born, unless it is the generation */
  o?: number;
  /** key */
  k?: string;
  /** priority, unless 1 */
  p?: number;
  /** attempts */
  a?: number;
  /** backoff: type (f or e), delay, max, jitter */
  b?: ['f' | 'e', number, number, number];
  /** headers */
  h?: Record<string, string>;
  /** content type, unless json */
  t?: 'bytes' | 'text' | 'void';
  /** siblings: index, location */
  l?: [number, string][];
}

const EMPTY = Buffer.alloc(0);
const NO_SIBLINGS: readonly Place[] = [];

/**
 * A payload as bytes: a Uint8Array and a string as they are, undefined as nothing, all else as JSON. `DQ_BAD_PAYLOAD`: JSON
 * cannot hold it, or would drop a part of it without a word.
 */
export function encodePayload(payload: unknown): Content {
  if (payload === undefined) return { type: 'void', bytes: EMPTY };
  if (typeof payload === 'string') return { type: 'text', bytes: bytesOf(payload) };
  if (payload instanceof Uint8Array) {
    // A copy: the caller may go on writing into its own.
    return { type: 'bytes', bytes: Buffer.from(payload) };
  }
  let json: string | undefined;
  let loss: string | undefined;
  try {
    json = JSON.stringify(payload);
    loss = findLoss(payload, 'the payload');
  } catch (cause) {
    throw new DqError('DQ_BAD_PAYLOAD', `the payload cannot be written as JSON: ${String(cause)}`, { cause });
  }
  if (json === undefined) {
    throw new DqError(
      'DQ_BAD_PAYLOAD',
      `the payload is ${show(payload)}: expected what JSON can hold, a string, a Buffer or undefined`,
    );
  }
  if (loss !== undefined) {
    const why = loss.endsWith('Promise')
      ? 'is an await missing?'
      : 'JSON keeps nothing of it, or not what matters';
    throw new DqError('DQ_BAD_PAYLOAD', `${loss}: expected what JSON can hold; ${why}`);
  }
  return { type: 'json', bytes: bytesOf(json) };
}

function bytesOf(text: string): Buffer | string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text);
}

/** The payload again; throws `DQ_BAD_PAYLOAD` when it is no JSON although it should be. */
export function decodePayload({ type, bytes }: Content): unknown {
  switch (type) {
    case 'void':
      return undefined;
    case 'text':
      return bytes.toString();
    case 'bytes':
      return bytes;
    case 'json':
      try {
        return JSON.parse(bytes.toString());
      } catch (cause) {
        throw new DqError(
          'DQ_BAD_PAYLOAD',
          `the stored payload is no JSON: ${show(bytes.toString().slice(0, 100))}`,
          {
            cause,
          },
        );
      }
  }
}

/**
 * One job's copies: each is a head and the payload. The heads differ in the index, and the primary's names its siblings.
 * They are ASCII, so that their length is their size.
 */
export class JobEnvelope {
  /** The head without its end; each copy appends what is its own. */
  private readonly common: string;

  constructor(
    readonly job: JobHeader,
    readonly content: Content,
  ) {
    const { id, due, copies, generation, born, key, priority, attempts, backoff, headers } = job;
    // By hand: this is half the time that JSON.stringify takes for the whole.
    let common = `${MARK}{"id":"${id}","due":${due},"n":${copies}`;
    if (generation !== 0) common += `,"g":${generation}`;
    if (born !== undefined && born !== generation) common += `,"o":${born}`;
    if (key !== undefined) common += `,"k":${asciiJson(key)}`;
    if (priority !== 1) common += `,"p":${priority}`;
    if (attempts !== undefined) common += `,"a":${attempts}`;
    if (backoff) common += `,"b":${asciiJson(wireBackoff(backoff))}`;
    if (headers) common += `,"h":${asciiJson(headers)}`;
    if (content.type !== 'json') common += `,"t":"${content.type}"`;
    this.common = common;
  }

  /** The ASCII with which one copy begins: the head, and the payload if it is a text. */
  front(index: number, siblings: readonly Place[] = NO_SIBLINGS): string {
    const { bytes } = this.content;
    const text = typeof bytes === 'string' ? bytes : '';
    if (siblings.length === 0) return `${this.common},"i":${index}}\n${text}`;
    let places = '';
    for (const { index: of, location } of siblings) {
      places += `${places === '' ? '' : ','}[${of},${asciiJson(location)}]`;
    }
    return `${this.common},"i":${index},"l":[${places}]}\n${text}`;
  }

  /** What follows: the payload, unless it is a text. */
  get rest(): Buffer {
    const { bytes } = this.content;
    return typeof bytes === 'string' ? EMPTY : bytes;
  }

  /** No copy is larger than this, in bytes, when it names at most so many siblings at places of at most this length. */
  largestCopy(mostSiblings: number, longestLocation: number): number {
    const siblings = mostSiblings * (longestLocation + 10);
    return this.common.length + 20 + siblings + this.content.bytes.length;
  }
}

/** Takes a body apart. A text is the reason why the body is no envelope. */
export function unwrap(body: Buffer): Envelope | string {
  if (body.length < MARK.length || body.readUInt32BE() !== MARK_BYTES) {
    return `it does not begin with ${JSON.stringify(MARK)} but with ${show(body.toString('latin1', 0, 20))}`;
  }
  const end = body.indexOf(LINE_FEED, MARK.length);
  if (end < 0) return 'its header has no end';
  let wire: WireHeader;
  try {
    wire = JSON.parse(body.toString('utf8', MARK.length, end)) as WireHeader;
  } catch (error) {
    return `its header is no JSON: ${String(error)}`;
  }
  if (typeof wire !== 'object' || wire === null) return 'its header is no object';
  const bad = badField(wire);
  if (bad) return `its header's field "${bad}" is ${show(wire[bad])}`;
  return {
    header: {
      id: wire.id,
      due: wire.due,
      generation: wire.g ?? 0,
      born: wire.o ?? wire.g ?? 0,
      key: wire.k,
      copies: wire.n,
      priority: wire.p ?? 1,
      attempts: wire.a,
      backoff: wire.b && {
        type: wire.b[0] === 'f' ? 'fixed' : 'exponential',
        delay: wire.b[1],
        max: wire.b[2],
        jitter: wire.b[3],
      },
      headers: wire.h,
      index: wire.i,
      siblings: wire.l ? wire.l.map(([index, location]) => ({ index, location })) : NO_SIBLINGS,
    },
    content: { type: wire.t ?? 'json', bytes: body.subarray(end + 1) },
  };
}

/** Whether a body is this very copy: a server's copy ids are no identities, they begin again when it loses its log. */
export function isCopy(body: Buffer, id: string, generation: number, index: number): boolean {
  const envelope = unwrap(body);
  return typeof envelope === 'object' && isCopyOf(envelope, id, generation, index);
}

/** The same of what was unwrapped before. */
export function isCopyOf({ header }: Envelope, id: string, generation: number, index: number): boolean {
  return header.id === id && header.generation === generation && header.index === index;
}

function wireBackoff(plan: ResolvedBackoff): WireHeader['b'] {
  return [plan.type === 'fixed' ? 'f' : 'e', plan.delay, plan.max, plan.jitter];
}

/** Somebody else's program may write into our tubes, so nothing of a header is taken for granted. */
function badField({ id, due, n, i, g, o, k, p, a, b, h, t, l }: WireHeader): keyof WireHeader | undefined {
  if (!isJobId(id)) return 'id';
  if (!isTime(due)) return 'due';
  if (!isCount(n, 1, 31)) return 'n';
  if (!isCount(i, 0, 30)) return 'i';
  if (g !== undefined && !isTime(g)) return 'g';
  if (o !== undefined && !isTime(o)) return 'o';
  if (k !== undefined && typeof k !== 'string') return 'k';
  if (p !== undefined && !isCount(p, 0, 2)) return 'p';
  if (a !== undefined && !isCount(a, 1, Number.MAX_SAFE_INTEGER)) return 'a';
  if (b !== undefined && !isBackoff(b)) return 'b';
  if (h !== undefined && !isTexts(h)) return 'h';
  if (t !== undefined && t !== 'bytes' && t !== 'text' && t !== 'void') return 't';
  if (l !== undefined && !isSiblings(l)) return 'l';
  return undefined;
}

/** What may be part of a key of the ledger, and is none of those that stand beside the records. */
export function isJobId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,100}$/.test(value);
}

function isCount(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

function isTime(value: unknown): boolean {
  return isCount(value, 0, 8.64e15);
}

function isBackoff(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    (value[0] === 'f' || value[0] === 'e') &&
    value.length === 4 &&
    value.slice(1).every((part) => typeof part === 'number' && part >= 0 && part < FIRST_TIMESTAMP) &&
    value[3] <= 1
  );
}

function isTexts(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((text) => typeof text === 'string')
  );
}

function isSiblings(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((pair) => Array.isArray(pair) && isCount(pair[0], 0, 30) && typeof pair[1] === 'string')
  );
}
