/**
 * Reads the body of a beanstalkd job in any format. One of our formats is a file in this folder with its own `unwrap`, and a line here
 * that recognizes its bodies. What else is read of another program's format is at the end of this file.
 */
import { LARGEST_BODY_BYTES } from '../../beanstalk/codec/reply-parser.js';
import { show } from '../../errors.js';
import type { JobRef } from '../../api/job.js';
import type { StoredTube } from '../../api/tube.js';
import {
  GO_QUEUE,
  goQueueCopies,
  isGoQueue,
  isGoQueueId,
  unwrapGoQueue,
} from '../../go-queue/go-queue-format.js';
import type { CopyHeader, Envelope, ForeignFormat, JobIdentity, NamedCopy } from '../header.js';
import { identifyDq1, isDq1, unwrapDq1 } from './dq1.js';
import type { Seal } from '../../seal/seal.js';
import { BAD_SEAL, fieldsOfSealed, identifySealed, isSealed, NO_KEY, unwrapSealed } from './sealed.js';

const NO_SEAL = `${BAD_SEAL}it has no seal`;
const NOT_ADOPTED =
  "it is stored in go-queue's format: expected a handler of defineTube(…, { wire: 'go-queue' })";

/**
 * Returns a string if the body can't be read, with the reason: such a copy is buried and reported, never dropped. If jobs are
 * sealed, also if the copy isn't, or not for this tube.
 * @param takesForeign Whether it may be in another program's format.
 */
export function unwrap(
  body: Buffer,
  tube: StoredTube,
  seal: Seal | undefined,
  takesForeign = true,
): Envelope | string {
  const takesOpen = !seal || seal.takesUnsealed(tube);
  if (isDq1(body)) return takesOpen ? unwrapDq1(body) : NO_SEAL;
  if (isSealed(body)) {
    return seal ? unwrapSealed(body, tube, seal) : `${NO_KEY}it is sealed, and this process has no \`seal\``;
  }
  if (isGoQueue(body)) return takesForeign ? unwrapGoQueue(body) : (takesOpen ? '' : BAD_SEAL) + NOT_ADOPTED;
  if (!takesOpen) return NO_SEAL;
  if (body.length === 0) return `it is empty or has more than ${LARGEST_BODY_BYTES} bytes`;
  return `it does not begin with "dq1 " but with ${show(body.toString('latin1', 0, 20))}`;
}

/** Returns which job a copy belongs to; unverified. `body` in latin1. Undefined if it isn't a copy of a job. */
export function identify(body: string): JobIdentity | undefined {
  return identifyDq1(body) ?? identifySealed(body) ?? openHeaderOf(Buffer.from(body, 'latin1'));
}

/** Returns the readable part of a copy's header; unverified. Undefined if it isn't a copy of a job. */
export function openHeaderOf(bytes: Buffer): CopyHeader | undefined {
  if (isSealed(bytes)) return fieldsOfSealed(bytes);
  // Only our own format has everything in the header.
  const envelope = isDq1(bytes)
    ? unwrapDq1(bytes.subarray(0, bytes.indexOf('\n') + 1))
    : isGoQueue(bytes) && unwrapGoQueue(bytes);
  return typeof envelope === 'object' ? envelope.header : undefined;
}

/** Returns the format of the job with this id. Undefined if it is one of ours. */
export function foreignFormatOf(id: string): ForeignFormat | undefined {
  return isGoQueueId(id) ? GO_QUEUE : undefined;
}

/** Returns the copies named in another program's reference, given as is or as `ref`. Undefined if it is one of ours, or none. */
export function namedCopies(ref: JobRef): [NamedCopy, ...NamedCopy[]] | undefined {
  return goQueueCopies(ref);
}
