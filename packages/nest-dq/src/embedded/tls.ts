import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Duration } from 'nest-handlers/time';
import { DqError, toError, unknownName, wrongValue } from '../errors.js';
import { parseDuration } from '../time/duration.js';

/** Who a node shows itself to be, and whom it lets in. All are PEM. */
export interface TlsCertificates {
  /** The certificate, and behind it those between it and its authority. */
  cert: string | Buffer;
  /** Its private key, without a passphrase. */
  key: string | Buffer;
  /**
   * One authority or several: only a client with a certificate of one of them is let in. Present but undefined or empty is
   * `DQ_CONFIG`, never an open door.
   * @default every client is let in
   */
  clientCa?: string | Buffer;
}

/** What `listen({ tls })` takes. TLS 1.2 and 1.3 are spoken. */
export interface TlsOptions extends TlsCertificates {
  /** How long a client may take for the handshake, in a `Duration`; then it is cut. @default '10s' */
  handshake?: Duration;
}

/** TLS options that can be used. */
export interface Tls {
  readonly context: SecureContextOptions;
  /** Whether clients need a certificate. */
  readonly isMutual: boolean;
  /** Milliseconds. */
  readonly handshake: number;
}

const OPTIONS = ['cert', 'key', 'clientCa', 'handshake'];
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** `DQ_CONFIG`: what is given cannot be used; no value of it is shown. `DQ_BAD_DURATION`. */
export function resolveTls(given: TlsOptions): Tls {
  if (typeof given !== 'object' || given === null)
    throw wrongValue('DQ_CONFIG', '`tls`', given, '{ cert, key }, PEM texts');
  const unknown = Object.keys(given).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) throw unknownName('DQ_CONFIG', `option \`tls.${unknown}\``, OPTIONS);
  const cert = pem('cert', given);
  const key = pem('key', given);
  const ca = 'clientCa' in given ? pem('clientCa', given) : undefined;
  const certificate = read('cert', 'a certificate', () => new X509Certificate(cert));
  const privateKey: KeyObject = read('key', 'a private key without a passphrase', () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new DqError('DQ_CONFIG', '`tls.key` is another key than that of `tls.cert`');
  }
  if (ca !== undefined) checkAuthorities(ca);
  const context: SecureContextOptions = { cert, key, minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) };
  read('cert', 'what TLS can use', () => createSecureContext(context));
  return {
    context,
    isMutual: ca !== undefined,
    handshake: parseDuration(given.handshake ?? '10s', '`tls.handshake`'),
  };
}

function pem(name: 'cert' | 'key' | 'clientCa', { [name]: value }: TlsOptions): string {
  const text = Buffer.isBuffer(value) ? value.toString('latin1') : value;
  if (typeof text === 'string' && text !== '') return text;
  const given =
    text === '' ? 'empty' : value === undefined || value === null ? String(value) : `a ${typeof value}`;
  throw new DqError('DQ_CONFIG', `\`tls.${name}\` is ${given}: expected a PEM text`);
}

/** One that is not read is no authority: Node passes over it without a word. */
function checkAuthorities(ca: string): void {
  const found = ca.match(PEM_CERTIFICATE) ?? [''];
  for (const each of found) read('clientCa', 'certificates', () => new X509Certificate(each));
}

function read<T>(name: string, expected: string, parse: () => T): T {
  try {
    return parse();
  } catch (thrown) {
    const cause = toError(thrown);
    throw new DqError(
      'DQ_CONFIG',
      `\`tls.${name}\` cannot be read (${cause.message}): expected ${expected}, in PEM`,
      { cause },
    );
  }
}
