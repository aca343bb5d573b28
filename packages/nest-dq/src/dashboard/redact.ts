import { DqError, toError } from '../errors.js';
import type { JobPayload } from '../operate/job-payload.js';
import { Refusal } from './failures.js';
import type { KafkaLetter } from './kafka-cluster.js';
import type { DqDashboardJob, DqDashboardMessage, DqDashboardOptions } from './options.js';
import type { PayloadWire } from './wire.js';

/** Maximum size of a value shown on a page: Kafka accepts values that would freeze a browser. */
const MAX_SHOWN_BYTES = 1_048_576;

/**
 * Resolves with what a viewer sees of a payload. `redact` can't read what a codec wrote, so then only its size is shown. Rejects with `DQ_BAD_PAYLOAD` if JSON can't represent what `redact` returned, or
 * as `redact` does.
 */
export async function redacted(
  options: DqDashboardOptions,
  { payload, encoded, ...job }: JobPayload,
): Promise<PayloadWire> {
  if (encoded) {
    const { codec, stored } = encoded;
    const text = typeof stored === 'string' && !options.redact ? { text: stored } : {};
    return { encoded: { codec, size: Buffer.byteLength(stored), ...text } };
  }
  return shown(options, payload, job, `job ${job.id}`);
}

/** Resolves with what a viewer sees of a letter's value and headers. Rejects as `redacted` does, and with a `Refusal`. */
export async function redactedLetter(options: DqDashboardOptions, letter: KafkaLetter): Promise<PayloadWire> {
  const { origin, key, headers, value, valueBytes } = letter;
  if (valueBytes > MAX_SHOWN_BYTES) {
    const fact = `the value has ${valueBytes} bytes, and the dashboard shows at most ${MAX_SHOWN_BYTES}`;
    throw new Refusal(413, 'TOO_LARGE', `${fact}: use \`nest-kq dead show\``);
  }
  const texts = Object.entries(headers).map(([name, each]) => [
    name,
    Array.isArray(each) ? each.map(String) : String(each),
  ]);
  const payload = { headers: Object.fromEntries(texts) as object, value: readable(value) };
  const message = { topic: origin.topic, ...(key !== null && { key }) };
  return shown(options, payload, message, `a message of ${origin.topic}`);
}

async function shown(
  { redact }: DqDashboardOptions,
  payload: unknown,
  of: DqDashboardJob | DqDashboardMessage,
  what: string,
): Promise<PayloadWire> {
  const seen = redact ? await redact(payload, of) : payload;
  if (seen instanceof Uint8Array) return { bytes: Buffer.from(seen).toString('base64') };
  try {
    JSON.stringify(seen);
  } catch (cause) {
    const fact = `the value returned by \`redact\` for ${what} cannot be written as JSON: ${toError(cause).message}`;
    throw new DqError('DQ_BAD_PAYLOAD', fact, { cause });
  }
  return { payload: seen };
}

/** Parses JSON, and returns other text as it is, and binary data as base64. */
function readable(value: Buffer | null): unknown {
  if (value === null) return null;
  const text = value.toString();
  if (!Buffer.from(text).equals(value)) return { base64: value.toString('base64') };
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
