import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Duration } from 'nest-handlers/time';
import { DqError, toError, unknownName, wrongValue } from '../errors.js';
import { certificatesOf, checkPair } from '../pem.js';
import { parseDuration } from '../time/duration.js';

/** The identity of a node, and the clients it accepts. All are PEM. */
export interface TlsCertificates {
  /** The certificate, followed by those between it and its authority. */
  cert: string | Buffer;
  /** Its private key, without a passphrase. */
  key: string | Buffer;
  /**
   * One or more authorities: only clients with a certificate of one of them are accepted. Present but undefined or empty is
   * `DQ_CONFIG`, so that it is never open by mistake.
   * @default every client is accepted
   */
  clientCa?: string | Buffer;
}

/** Options of `listen({ tls })`. TLS 1.2 and 1.3 are supported. */
export interface ListenTlsOptions extends TlsCertificates {
  /** Time limit of a client's handshake, as a `Duration`; then it is cut. @default '10s' */
  handshake?: Duration;
}

/** Checked TLS options. */
export interface Tls {
  readonly context: SecureContextOptions;
  /** Whether clients need a certificate. */
  readonly isMutual: boolean;
  /** Time limit of the handshake, in ms. */
  readonly handshake: number;
}

const OPTIONS = ['cert', 'key', 'clientCa', 'handshake'];

/** Throws `DQ_CONFIG` if an option can't be used, without showing its value, and `DQ_BAD_DURATION`. */
export function resolveTls(given: ListenTlsOptions): Tls {
  if (typeof given !== 'object' || given === null)
    throw wrongValue('DQ_CONFIG', '`tls`', given, '{ cert, key } as PEM strings');
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
