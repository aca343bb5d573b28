import type { JobEnvelope } from '../envelope.js';
import type { Place } from '../location.js';

/** The bytes of one copy, as its node gets them. */
export function copyBody(envelope: JobEnvelope, index: number, siblings?: readonly Place[]): Buffer {
  return Buffer.concat([Buffer.from(envelope.front(index, siblings)), envelope.rest]);
}
