/**
 * Payloads written by a codec. One is stored as JSON is, but begins with a line that names the codec, and so is no JSON: a
 * process without codecs, of whatever version, refuses it and never runs a job with a wrong payload.
 */
import { isThenable } from 'nest-handlers/context';
import { EncodedPayload, type PayloadCodec, type TubeCodecs } from '../api/payload-codec.js';
import { DqError, show, toError } from '../errors.js';

const FIRST_LINE = /^codec ([\w.-]{1,40}) (text|bytes|base64)\n/;
const LONGEST_FIRST_LINE = 60;
/** No JSON begins with it. */
const FIRST_BYTE = 0x63;

/** Returns what is stored of a payload. `DQ_BAD_PAYLOAD` if the codec throws, or returns something else. */
export function encodeWith(codec: PayloadCodec, payload: unknown): Buffer | string {
  let stored: unknown;
  try {
    stored = codec.encode(payload);
  } catch (thrown) {
    throw failed(codec.name, 'encode', thrown);
  }
  if (typeof stored !== 'string' && !(stored instanceof Uint8Array)) {
    const fact = `the codec ${show(codec.name)} encoded the payload as ${isThenable(stored) ? 'a promise' : show(stored)}`;
    throw new DqError('DQ_BAD_PAYLOAD', `${fact}: expected a string or a Uint8Array`);
  }
  return written(codec.name, stored);
}

export function written(codec: string, stored: string | Uint8Array): Buffer | string {
  if (typeof stored === 'string') return `codec ${codec} text\n${stored}`;
  return Buffer.concat([Buffer.from(`codec ${codec} bytes\n`), stored]);
}

/** Returns the same payload as a string, for places that hold no bytes. */
export function writtenAsText({ codec, stored }: EncodedPayload): string {
  return typeof stored === 'string'
    ? `codec ${codec} text\n${stored}`
    : `codec ${codec} base64\n${stored.toString('base64')}`;
}

/** Returns the payload that a codec wrote; undefined if none did. */
export function readEncoded(bytes: Buffer | string): EncodedPayload | undefined {
  if ((typeof bytes === 'string' ? bytes.charCodeAt(0) : bytes[0]) !== FIRST_BYTE) return undefined;
  const head = typeof bytes === 'string' ? bytes : bytes.toString('latin1', 0, LONGEST_FIRST_LINE);
  const [line, codec, form] = FIRST_LINE.exec(head) ?? [];
  if (line === undefined) return undefined;
  if (form === 'bytes') return new EncodedPayload(codec!, Buffer.from(bytes as Buffer).subarray(line.length));
  const text = typeof bytes === 'string' ? bytes.slice(line.length) : bytes.toString('utf8', line.length);
  return new EncodedPayload(codec!, form === 'text' ? text : Buffer.from(text, 'base64'));
}

/** `DQ_BAD_PAYLOAD` if the codec throws, or isn't among these. */
export function decodeWith(codecs: TubeCodecs | undefined, { codec: name, stored }: EncodedPayload): unknown {
  const codec = codecNamed(codecs, name);
  if (!codec) {
    const known = namesOf(codecs).map(show).join(', ') || 'none';
    throw new DqError(
      'DQ_BAD_PAYLOAD',
      `the stored payload is encoded with the codec ${show(name)}, and this process reads ${known} here: expected that codec as \`codec\` or in \`alsoReads\` of defineTube, and the tube it returns rather than a name`,
    );
  }
  let payload: unknown;
  try {
    payload = codec.decode(stored);
  } catch (thrown) {
    throw failed(name, 'decode', thrown);
  }
  if (!isThenable(payload)) return payload;
  payload.then(undefined, () => undefined); // reported below; its rejection must not end the process as well
  throw new DqError(
    'DQ_BAD_PAYLOAD',
    `the codec ${show(name)} decoded the stored payload to a promise: expected the payload`,
  );
}

/** Names of the codecs that a tube reads. */
export function namesOf({ codec, alsoReads = [] }: TubeCodecs = {}): string[] {
  return [...(codec ? [codec] : []), ...alsoReads].map(({ name }) => name);
}

function codecNamed({ codec, alsoReads }: TubeCodecs = {}, name: string): PayloadCodec | undefined {
  return codec?.name === name ? codec : alsoReads?.find((each) => each.name === name);
}

function failed(name: string, what: 'encode' | 'decode', thrown: unknown): DqError {
  const cause = toError(thrown);
  const which = what === 'encode' ? 'payload' : 'stored payload';
  return new DqError(
    'DQ_BAD_PAYLOAD',
    `the codec ${show(name)} can't ${what} the ${which}: ${cause.message}`,
    { cause },
  );
}
