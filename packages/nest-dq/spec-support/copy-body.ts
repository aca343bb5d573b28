import type { JobEnvelope } from '../src/copies/formats/dq1.js';
import type { Place } from '../src/copies/location.js';

/** The bytes of one copy, as they are put on its node. */
export function copyBody(envelope: JobEnvelope, index: number, siblings?: readonly Place[]): Buffer {
  return Buffer.concat(envelope.body(index, siblings).map((part) => Buffer.from(part)));
}
