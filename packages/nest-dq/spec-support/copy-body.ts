import type { JobEnvelope } from '../src/copies/envelope.js';
import type { Place } from '../src/copies/location.js';

/** The bytes of one copy, as its node gets them. */
export function copyBody(envelope: JobEnvelope, index: number, siblings?: readonly Place[]): Buffer {
  return Buffer.concat([Buffer.from(envelope.front(index, siblings)), envelope.rest]);
}
