import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Duration } from 'nest-handlers/time';
import { DqError, toError, unknownName, wrongValue } from '../errors.js';
import { certificatesOf, checkPair } from '../pem.js';
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

/** `DQ_CONFIG`: what is given cannot be used; no value of it is shown. `DQ_BAD_DURATION`. */
export function resolveTls(given: TlsOptions): Tls {
  if (typeof given !== 'object' || given === null)
    throw wrongValue('DQ_CONFIG', '`tls`', given, '{ cert, key }, PEM texts');
  const unknown = Object.keys(given).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) throw unknownName('DQ_CONFIG', `option \`tls.${unknown}\``, OPTIONS);
  const pair = checkPair({ name: 'tls.cert', given: given.cert }, { name: 'tls.key', given: given.key });
  const ca =
    'clientCa' in given ? certificatesOf({ name: 'tls.clientCa', given: given.clientCa }) : undefined;
  const context: SecureContextOptions = { ...pair, minVersion: 'TLSv1.2', ...(ca && { ca }) };
  try {
    createSecureContext(context);
  } catch (thrown) {
    throw new DqError('DQ_CONFIG', `\`tls\` cannot be used: ${toError(thrown).message}`, { cause: thrown });
  }
  return {
    context,
    isMutual: ca !== undefined,
    handshake: parseDuration(given.handshake ?? '10s', '`tls.handshake`'),
  };
}
