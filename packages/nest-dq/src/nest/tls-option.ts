import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { DqError, toError } from '../errors.js';
import { certificatesOf, checkPair, kindOf, type Pem } from '../pem.js';
import { wrong } from './option-checks.js';

/**
 * TLS settings of nodes whose endpoints begin with `tls://`. TLS 1.2 or later; a node whose certificate doesn't verify is never
 * used. Certificates and keys are PEM strings, or their bytes.
 */
export interface TlsOptions {
  /** Trusted certificate authorities, replacing the default ones. @default those that Node trusts */
  ca?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** Client certificate, followed by any intermediates. Needs `key`. @default none */
  cert?: string | Uint8Array;
  /** Private key of `cert`. */
  key?: string | Uint8Array;
  /** Passphrase of `key` if it is encrypted. */
  passphrase?: string;
  /** Name that each node's certificate must match. @default the host of the endpoint */
  servername?: string;
}

/** The `tls` option after validation. */
export interface NodeTls {
  readonly context: SecureContext;
  readonly servername: string | undefined;
}

const NAMES: readonly string[] = ['ca', 'cert', 'key', 'passphrase', 'servername'];

/** Validates the `tls` option. `DQ_CONFIG`. No message shows any part of a key or a certificate. */
export function resolveTls(tls: TlsOptions | undefined): NodeTls {
  if (tls === undefined) tls = {};
  if (typeof tls !== 'object' || tls === null || Array.isArray(tls))
    throw new DqError('DQ_CONFIG', `\`tls\` is ${kindOf(tls)}: expected { ${NAMES.join(', ')} }`);
  const unknown = Object.keys(tls).find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    throw new DqError('DQ_CONFIG', `unknown option \`tls.${unknown}\`: expected one of ${NAMES.join(', ')}`);
  const { ca, servername } = tls;
  checkServername(servername);
  const authorities = ca === undefined ? undefined : checkAuthorities(ca);
  const pair = ownPair(tls);
  try {
    // Shared by all connections.
    const context = createSecureContext({ minVersion: 'TLSv1.2', ca: authorities, ...pair });
    return { context, servername };
  } catch (thrown) {
    throw new DqError('DQ_CONFIG', `\`tls\` cannot be used: ${toError(thrown).message}`, { cause: thrown });
  }
}

function checkServername(servername: unknown): void {
  if (servername === undefined) return;
  if (typeof servername !== 'string' || !/^[\w.-]+$/.test(servername) || isIP(servername) !== 0)
    throw wrong('`tls.servername`', servername, "a host name, such as 'beanstalkd.internal'");
}

function checkAuthorities(ca: Pem | readonly Pem[]): string[] {
  const all: readonly unknown[] = Array.isArray(ca) ? ca : [ca];
  if (all.length === 0)
    throw new DqError(
      'DQ_CONFIG',
      '`tls.ca` is an empty array: expected at least one certificate, or no `ca` to use the authorities Node trusts',
    );
  return all.flatMap((each, i) =>
    certificatesOf({ name: Array.isArray(ca) ? `tls.ca[${i}]` : 'tls.ca', given: each }),
  );
}

function ownPair({ cert, key, passphrase }: TlsOptions): {
  cert?: string;
  key?: Buffer;
  passphrase?: string;
} {
  if ((cert === undefined) !== (key === undefined)) {
    const [given, missing] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    throw new DqError(
      'DQ_CONFIG',
      `\`tls.${given}\` is set without \`tls.${missing}\`: expected both or neither`,
    );
  }
  if (passphrase !== undefined && typeof passphrase !== 'string')
    throw new DqError('DQ_CONFIG', `\`tls.passphrase\` is ${kindOf(passphrase)}: expected a string`);
  if (passphrase !== undefined && key === undefined)
    throw new DqError('DQ_CONFIG', '`tls.passphrase` is set without `tls.key`: expected the key it decrypts');
  if (cert === undefined) return {};
  const pair = checkPair(
    { name: 'tls.cert', given: cert },
    { name: 'tls.key', given: key },
    { name: 'tls.passphrase', given: passphrase },
  );
  return passphrase === undefined ? pair : { ...pair, passphrase };
}
