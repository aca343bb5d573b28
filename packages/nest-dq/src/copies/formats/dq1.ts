/**
 * The bytes of a copy: `dq1 `, a header of one line of compact JSON, a line feed, the payload's bytes.
 *
 * To change the format:
 * 1. Copies wait for months, and processes of two versions run side by side: everything that was written must stay readable.
 * 2. A new field of the header must be optional, and an old reader must be right when it ignores it.
 * 3. Any other change is a new format with a new mark (`dq2 `), in a file beside this one: first release a version that
 *    reads both, then one that writes the new one.
 * 4. Keep the specs of every format that was ever written.
 */
import { FIRST_TIMESTAMP } from 'nest-handlers/time';
import type { Body } from '../../beanstalk/connection.js';
import { show } from '../../errors.js';
import { asciiJson } from '../../structures/ascii-json.js';
import type { ResolvedBackoff } from '../../time/backoff.js';
import { isJobId, type Envelope, type JobHeader, type JobIdentity, type WrittenJob } from '../header.js';
import { placesJson, readPlaces, type Place } from '../location.js';
import type { Content } from '../payload.js';
import { copyDelay, copyPriority } from '../timing.js';

const MARK = 'dq1 ';
const MARK_BYTES = Buffer.from(MARK).readUInt32BE();
const LINE_FEED = 0x0a;
const NO_SIBLINGS: readonly Place[] = [];

/** The header as it is written: short names, without usual values. */
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
  /** group */
  u?: string;
  /** content type, unless json */
  t?: 'bytes' | 'text' | 'void';
  /** siblings: index, location */
  l?: [number, string][];
}

/**
 * One job's copies. Each is a header and the payload. The headers differ in the index, and the primary's names its
 * siblings. They are ASCII, so that their length is their size.
 */
export class JobEnvelope implements WrittenJob {
  /** The header without its end. Each copy appends its own. */
  private readonly common: string;

  constructor(
    readonly job: JobHeader,
    readonly content: Content,
  ) {
    const { id, due, copies, generation, born, key, priority, attempts, backoff, headers, group } = job;
    // By hand: this is half the time that JSON.stringify takes for the whole.
    let common = `${MARK}{"id":"${id}","due":${due},"n":${copies}`;
    if (generation !== 0) common += `,"g":${generation}`;
    if (born !== undefined && born !== generation) common += `,"o":${born}`;
    if (key !== undefined) common += `,"k":${asciiJson(key)}`;
    if (priority !== 1) common += `,"p":${priority}`;
    if (attempts !== undefined) common += `,"a":${attempts}`;
    if (backoff) common += `,"b":${asciiJson(wireBackoff(backoff))}`;
    if (headers) common += `,"h":${asciiJson(headers)}`;
    if (group !== undefined) common += `,"u":${asciiJson(group)}`;
    if (content.type !== 'json') common += `,"t":"${content.type}"`;
    this.common = common;
  }

  /** One copy, as it is put. */
  body(index: number, siblings: readonly Place[] = NO_SIBLINGS): Body {
    const { common, content } = this;
    if (siblings.length === 0) return [`${common},"i":${index}}\n`, content.bytes];
    return [`${common},"i":${index},"l":[${placesJson(siblings)}]}\n`, content.bytes];
  }

  withCopies(copies: number): JobEnvelope {
    return copies === this.job.copies ? this : new JobEnvelope({ ...this.job, copies }, this.content);
  }

  delay(index: number, msUntilDue: number, backupDelay: number): number {
    return copyDelay(index, msUntilDue, backupDelay);
  }

  priority(index: number): number {
    return copyPriority(this.job.priority, this.job.due, index);
  }

  /** Bytes. No copy is larger that names at most so many siblings, at places of at most this length. */
  largestCopy(mostSiblings: number, longestLocation: number): number {
    const siblings = mostSiblings * (longestLocation + 10);
    return this.common.length + 20 + siblings + this.content.bytes.length;
  }
}

export function isDq1(body: Buffer): boolean {
  return body.length >= MARK.length && body.readUInt32BE() === MARK_BYTES;
}

/** The first fields of a header, as `JobEnvelope` writes them, up to a field that comes behind them. */
const FIRST_FIELDS =
  /^dq1 \{"id":"([\w-]{1,100})","due":(\d{1,15}),"n":\d+(?:,"g":(\d{1,15}))?(?:,"o":(\d{1,15}))?,"[kpabhuti]":/;

/**
 * Tells of which job a copy is, without a look at the rest of it: in a small part of the time, for those who look at many.
 * `body` in latin1. Undefined: only `unwrapDq1` can tell.
 */
export function identifyDq1(body: string): JobIdentity | undefined {
  const fields = FIRST_FIELDS.exec(body);
  if (!fields) return undefined;
  const [, id, due, generation = 0, born = generation] = fields;
  return { id: id!, due: Number(due), generation: Number(generation), born: Number(born) };
}

/** Takes a body of this format apart. A text says why it cannot be read. */
export function unwrapDq1(body: Buffer): Envelope | string {
  const end = body.indexOf(LINE_FEED, MARK.length);
  if (end < 0) return 'its header has no end';
  let wire: WireHeader;
  try {
    wire = JSON.parse(body.toString('utf8', MARK.length, end)) as WireHeader;
  } catch (error) {
    return `its header is no JSON: ${String(error)}`;
  }
  if (typeof wire !== 'object' || wire === null) return 'its header is no object';
  const siblings = wire.l === undefined ? NO_SIBLINGS : readPlaces(wire.l);
  const bad = badField(wire) ?? (siblings ? undefined : 'l');
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
      group: wire.u,
      index: wire.i,
      siblings: siblings!,
    },
    content: { type: wire.t ?? 'json', bytes: body.subarray(end + 1) },
  };
}

function wireBackoff(plan: ResolvedBackoff): WireHeader['b'] {
  return [plan.type === 'fixed' ? 'f' : 'e', plan.delay, plan.max, plan.jitter];
}

/** Another program may write into our tubes, so every field is checked. */
function badField({ id, due, n, i, g, o, k, p, a, b, h, u, t }: WireHeader): keyof WireHeader | undefined {
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
  if (u !== undefined && (typeof u !== 'string' || u === '')) return 'u';
  if (t !== undefined && t !== 'bytes' && t !== 'text' && t !== 'void') return 't';
  return undefined;
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
