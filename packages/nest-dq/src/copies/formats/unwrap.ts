/**
 * Reads what lies in a beanstalkd job, in whatever format it was written. A format is a file of this folder with its own
 * `unwrap`, and a line here that knows its bodies.
 */
import { show } from '../../errors.js';
import type { Envelope } from '../header.js';
import { isDq1, unwrapDq1 } from './dq1.js';

/** A text says why the body cannot be read: such a copy is buried and reported, never dropped. */
export function unwrap(body: Buffer): Envelope | string {
  if (isDq1(body)) return unwrapDq1(body);
  return `it does not begin with "dq1 " but with ${show(body.toString('latin1', 0, 20))}`;
}
