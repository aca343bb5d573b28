import { DqError, toError } from '../errors.js';
import type { JobPayload } from '../operate/job-payload.js';
import type { DqDashboardOptions } from './options.js';
import type { PayloadWire } from './wire.js';

/** What a viewer sees of a payload. `DQ_BAD_PAYLOAD`: JSON cannot hold what `redact` returned. It throws what `redact` throws. */
export async function redacted(
  { redact }: DqDashboardOptions,
  { payload, ...job }: JobPayload,
): Promise<PayloadWire> {
  const seen = redact ? await redact(payload, job) : payload;
  if (seen instanceof Uint8Array) return { bytes: Buffer.from(seen).toString('base64') };
  try {
    JSON.stringify(seen);
  } catch (cause) {
    const fact = `what \`redact\` returned for job ${job.id} cannot be written as JSON: ${toError(cause).message}`;
    throw new DqError('DQ_BAD_PAYLOAD', fact, { cause });
  }
  return { payload: seen };
}
