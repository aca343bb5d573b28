/**
 * Format of go-queue's dq (v1.2): the due time in nanoseconds since 1970, a slash, the payload's bytes. All copies of a job are
 * identical, so they name neither their job nor each other: a job is identified by the MD5 of its bytes, as in go-queue's own
 * locks.
 */
import { createHash } from 'node:crypto';
import type { JobRef } from '../api/job.js';
import type { StoredTube } from '../api/tube.js';
import type { Body } from '../beanstalk/connection.js';
import type { Envelope, ForeignFormat, JobHeader, NamedCopy, WrittenJob } from '../copies/header.js';
import { LONGEST_REF } from '../copies/job-ref.js';
import { MAX_PLACES, parseLocation, UNKNOWN_COPY, type Place } from '../copies/location.js';
import { type Content, isJson } from '../copies/payload.js';
import { DqError } from '../errors.js';
import type { OwedCopies } from '../ledger/requests.js';

/** go-queue doesn't look for the slash beyond this. */
const STAMP = /^(\d{1,20})\//;
const NS_PER_MS = 1_000_000n;
/** go-queue's own: every copy has it. */
const PRIORITY = 2;
/** Copies that fit into a mask. */
const MAX_COPIES = 31;

/** Returns the index of a copy. Copies are identical, and no node has two of a job, so each gets its node's index. */
export function goQueueIndex({ rank }: { readonly rank: number }): number {
  return Math.min(rank, MAX_COPIES - 1);
}

/**
 * Returns the copies that may exist: one per node. With up to three nodes, each has one. With more, go-queue picks three, and
 * nobody knows which, so the ledger remembers the job for as long as one could surface.
 */
export function goQueueOwed(nodes: number): OwedCopies {
  return { mask: 2 ** Math.min(nodes, MAX_COPIES) - 1, unknown: false };
}

export const GO_QUEUE: ForeignFormat = {
  indexOn: goQueueIndex,
  owedOn: goQueueOwed,
  cannotMove: (id) =>
    new DqError(
      'DQ_BAD_REF',
      `job ${id} is stored in go-queue's format, so its time cannot change: expected a revoke and a new add`,
    ),
};

/** Returns whether `id` is of a job stored in this format. */
export function isGoQueueId(id: string | undefined): boolean {
  return id !== undefined && /^[0-9a-f]{32}$/.test(id);
}

export function isGoQueue(body: Buffer): boolean {
  return STAMP.test(body.toString('latin1', 0, 21));
}

/** Parses a body of this format. */
export function unwrapGoQueue(body: Buffer): Envelope {
  const [stamp = '', digits = ''] = STAMP.exec(body.toString('latin1', 0, 21)) ?? [];
  // Rounded up, so that it doesn't run before the nanosecond.
  const due = (BigInt(digits) + NS_PER_MS - 1n) / NS_PER_MS;
  const bytes = body.subarray(stamp.length);
  return {
    header: {
      foreign: GO_QUEUE,
      id: idOf(body),
      due: Number(due),
      generation: 0,
      born: 0,
      copies: 1,
      priority: 1,
      index: 0,
      siblings: [],
    },
    content: contentOf(bytes),
  };
}

/** The payload as go-queue's handlers get it: JSON, other text, other bytes, or nothing. */
function contentOf(bytes: Buffer): Content {
  if (bytes.length === 0) return { type: 'void', bytes };
  const text = bytes.toString();
  if (isJson(text)) return { type: 'json', bytes };
  return { type: Buffer.from(text).equals(bytes) ? 'text' : 'bytes', bytes };
}

/** `endpoint/tube/id`. One of our endpoints may contain slashes, as in tls://host:port. */
const COPY = /^([^,\s]+)\/([^/,\s]+)\/(\d{1,20})$/;

/** Returns the copies named in a go-queue reference, given as is or as `ref`. Undefined if it is another kind of reference. */
export function goQueueCopies(ref: JobRef): [NamedCopy, ...NamedCopy[]] | undefined {
  const text: unknown = typeof ref === 'object' && ref !== null && 'ref' in ref ? ref.ref : ref;
  if (typeof text !== 'string' || text.length > LONGEST_REF || !text.includes('/')) return undefined;
  const each = text.split(',');
  if (each.length > MAX_PLACES) return undefined;
  const copies: NamedCopy[] = [];
  for (const one of each) {
    const [, endpoint, tube, copyId] = COPY.exec(one) ?? [];
    if (copyId === undefined) return undefined;
    copies.push({ endpoint: endpoint!, tube: tube as StoredTube, copyId });
  }
  return copies as [NamedCopy, ...NamedCopy[]];
}

/** Formats copies as go-queue's producer would have returned them. Leaves out a copy whose put got no answer. */
export function goQueueIdsOf(tube: StoredTube, places: readonly Place[]): string {
  return places
    .map(({ location }) => parseLocation(location)!)
    .filter(({ copyId }) => copyId !== UNKNOWN_COPY)
    .map(({ endpoint, copyId }) => `${endpoint}/${tube}/${copyId}`)
    .join();
}

/** One job in storage format: all copies are identical. */
export class GoQueueEnvelope implements WrittenJob {
  readonly job: JobHeader;
  private readonly whole: Buffer;

  /**
   * @param below Nanoseconds within the millisecond: two equal payloads due at the same time must differ in it, or they share a
   *   single run.
   */
  constructor(
    due: number,
    below: number,
    readonly content: Content,
    copies: number,
  ) {
    const stamp = `${BigInt(due) * NS_PER_MS + BigInt(below)}/`;
    const bytes = Buffer.isBuffer(content.bytes) ? content.bytes : Buffer.from(content.bytes);
    this.whole = Buffer.concat([Buffer.from(stamp), bytes]);
    this.job = { id: idOf(this.whole), due, generation: 0, copies, priority: 1 };
  }

  body(): Body {
    return [this.whole];
  }

  /** Returns itself: the number of copies doesn't matter because none are named, and there is only one generation. */
  with(): this {
    return this;
  }

  /** In whole seconds, rounded up: go-queue runs whatever surfaces. */
  delay(_index: number, msUntilDue: number): number {
    return Math.max(0, Math.ceil(msUntilDue / 1_000));
  }

  priority(): number {
    return PRIORITY;
  }

  largestCopy(): number {
    return this.whole.length;
  }
}

function idOf(body: Buffer): string {
  return createHash('md5').update(body).digest('hex');
}
