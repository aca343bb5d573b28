/**
 * Reads what lies in a beanstalkd job, in whatever format it was written. A format is a file of this folder with its own
 * `unwrap`, and a line here that knows its bodies.
 */
import { show } from '../../errors.js';
import type { CopyHeader, Envelope, JobIdentity } from '../header.js';
import { identifyDq1, isDq1, unwrapDq1 } from './dq1.js';
import { isGoQueue, unwrapGoQueue } from './go-queue.js';

/** A text says why the body cannot be read: such a copy is buried and reported, never dropped. */
export function unwrap(body: Buffer): Envelope | string {
  if (isDq1(body)) return unwrapDq1(body);
  if (isGoQueue(body)) return unwrapGoQueue(body);
  return `it does not begin with "dq1 " but with ${show(body.toString('latin1', 0, 20))}`;
}

/** Of which job a copy is. `body` in latin1. Undefined: it is no copy of a job. */
export function identify(body: string): JobIdentity | undefined {
  return identifyDq1(body) ?? headerOf(body);
}

/** The header of a copy, with the payload left alone. `body` in latin1. Undefined: it is no copy of a job. */
export function headerOf(body: string): CopyHeader | undefined {
  const bytes = Buffer.from(body, 'latin1');
  // Only of ours the header tells all.
  const envelope = unwrap(isDq1(bytes) ? bytes.subarray(0, bytes.indexOf('\n') + 1) : bytes);
  return typeof envelope === 'object' ? envelope.header : undefined;
}
