/**
 * Format of a copy: `dq1 `, a header of one line of compact JSON, a line feed, the payload's bytes.
 *
 * To change the format:
 * 1. Copies wait for months, and processes of two versions run side by side: everything ever written must stay readable.
 * 2. A new header field must be optional, and an old reader must still be correct when it ignores it.
 * 3. Any other change is a new format with a new mark (`dq2 `), in a file next to this one: first release a version that reads
 *    both, then one that writes the new one.
 * 4. Keep the specs of every format that was ever written.
 */
import type { Body } from '../../beanstalk/connection.js';
import { headerWith, type Envelope, type JobHeader, type JobIdentity, type WrittenJob } from '../header.js';
import type { Place } from '../location.js';
import type { Content } from '../payload.js';
import { copyDelay, copyPriority } from '../timing.js';
import { copyFields, growthOf, openFields, parseHeader, privateFieldsOf } from './wire-header.js';

const MARK = 'dq1 ';
const MARK_BYTES = Buffer.from(MARK).readUInt32BE();
const LINE_FEED = 0x0a;

/**
 * One job's copies, each a header and the payload. The headers differ in the index, and the primary's names its siblings. They
 * are ASCII, so that their length is their size in bytes.
 */
export class JobEnvelope implements WrittenJob {
  /** The header without its end. Each copy appends its own. */
  private readonly common: string;

  constructor(
    readonly job: JobHeader,
    readonly content: Content,
    private readonly privateFields = privateFieldsOf(job, content.type),
  ) {
    this.common = MARK + openFields(job) + this.privateFields;
  }

  /** Returns one copy, as it is put. */
  body(index: number, siblings: readonly Place[] = []): Body {
    return [`${this.common}${copyFields(index, siblings)}}\n`, this.content.bytes];
  }

  with(copies: number, generation = this.job.generation): JobEnvelope {
    const { job, content } = this;
    if (generation === job.generation && copies === job.copies) return this;
    return new JobEnvelope(headerWith(job, copies, generation), content, this.privateFields);
  }

  delay(index: number, msUntilDue: number, backupDelay: number): number {
    return copyDelay(index, msUntilDue, backupDelay);
  }

  priority(index: number): number {
    return copyPriority(this.job.priority, this.job.due, index);
  }

  largestCopy(mostSiblings: number, longestLocation: number): number {
    const siblings = mostSiblings * (longestLocation + 10);
    return this.common.length + growthOf(this.job) + 20 + siblings + this.content.bytes.length;
  }
}

export function isDq1(body: Buffer): boolean {
  return body.length >= MARK.length && body.readUInt32BE() === MARK_BYTES;
}

/** The first header fields, as written by `JobEnvelope`, up to a field that comes after them. */
const FIRST_FIELDS =
  /^dq1 \{"id":"([\w-]{1,100})","due":(\d{1,15}),"n":\d+(?:,"g":(\d{1,15}))?(?:,"o":(\d{1,15}))?,"[kpabehuti]":/;

/**
 * Returns which job a copy belongs to, without parsing the rest: much faster, for code that scans many. `body` in latin1.
 * Undefined if only `unwrapDq1` can tell.
 */
export function identifyDq1(body: string): JobIdentity | undefined {
  const fields = FIRST_FIELDS.exec(body);
  if (!fields) return undefined;
  const [, id, due, generation = 0, born = generation] = fields;
  return { id: id!, due: Number(due), generation: Number(generation), born: Number(born) };
}

/** Parses a body of this format. Returns a string if it can't be read, with the reason. */
export function unwrapDq1(body: Buffer): Envelope | string {
  const end = body.indexOf(LINE_FEED, MARK.length);
  if (end < 0) return 'its header has no end';
  const parsed = parseHeader(body.toString('utf8', MARK.length, end));
  if (typeof parsed === 'string') return parsed;
  return { header: parsed.header, content: { type: parsed.type, bytes: body.subarray(end + 1) } };
}
