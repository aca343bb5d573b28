import { DqError, toError } from '../errors.js';
import type { JobPayload } from '../operate/job-payload.js';
import { Refusal } from './failures.js';
import type { KafkaLetter } from './kafka-cluster.js';
import type { DqDashboardJob, DqDashboardMessage, DqDashboardOptions } from './options.js';
import type { PayloadWire } from './wire.js';

/** Bytes of a value that a page shows at most: Kafka takes values that would stop a browser. */
const MOST_SHOWN = 1_048_576;

/** What a viewer sees of a payload. `DQ_BAD_PAYLOAD`: JSON cannot hold what `redact` returned. It throws what `redact` throws. */
export function redacted(options: DqDashboardOptions, { payload, ...job }: JobPayload): Promise<PayloadWire> {
  return shown(options, payload, job, `job ${job.id}`);
}

/** What a viewer sees of value and headers of a letter. Rejects as `redacted`, and with a `Refusal`. */
export async function redactedLetter(options: DqDashboardOptions, letter: KafkaLetter): Promise<PayloadWire> {
  const { origin, key, headers, value, valueBytes } = letter;
  if (valueBytes > MOST_SHOWN) {
    const fact = `the value has ${valueBytes} bytes, and the dashboard shows ${MOST_SHOWN} at most`;
    throw new Refusal(413, 'TOO_LARGE', `${fact}: \`nest-kq dead show\` shows it`);
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
    const fact = `what \`redact\` returned for ${what} cannot be written as JSON: ${toError(cause).message}`;
    throw new DqError('DQ_BAD_PAYLOAD', fact, { cause });
  }
  return { payload: seen };
}

/** JSON as what it stands for, other texts as they are, and bytes that are no text in base64. */
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
