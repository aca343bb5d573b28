import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { DqError, toError } from '../errors.js';
import { wrong } from './option-checks.js';

type Pem = string | Uint8Array;

/**
 * How nodes are reached whose endpoints begin with `tls://`: with TLS 1.2 at least, and never if the certificate of the node does not
 * verify. Certificates and keys are texts in PEM, or their bytes.
 */
export interface TlsOptions {
  /** The authorities whose certificates are trusted, and no others. @default those that Node trusts */
  ca?: string | Uint8Array | readonly (string | Uint8Array)[];
  /** The client certificate, with those between it and its authority behind it. Needs `key`. @default none */
  cert?: string | Uint8Array;
  /** The private key of `cert`. */
  key?: string | Uint8Array;
  /** Opens `key` if it is encrypted. */
  passphrase?: string;
  /** The name for which the certificate of each node must be. @default the host of the endpoint */
  servername?: string;
}

/** The option after it was checked. */
export interface NodeTls {
  readonly context: SecureContext;
  readonly servername: string | undefined;
}

const NAMES: readonly string[] = ['ca', 'cert', 'key', 'passphrase', 'servername'];
const CERTIFICATE = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^]*?-----END (?:TRUSTED )?CERTIFICATE-----/g;
const EXPECTED_PEM = "a text in PEM or its bytes, such as readFileSync('ca.pem'), and not a path";

/** `DQ_CONFIG`. No message shows what is in a key or a certificate. */
export function resolveTls(tls: TlsOptions | undefined): NodeTls {
  if (tls === undefined) tls = {};
  if (typeof tls !== 'object' || tls === null || Array.isArray(tls))
    throw new DqError('DQ_CONFIG', `\`tls\` is ${kindOf(tls)}: expected { ${NAMES.join(', ')} }`);
  const unknown = Object.keys(tls).find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    throw new DqError('DQ_CONFIG', `there is no \`tls.${unknown}\`: expected ${NAMES.join(', ')}`);
  const { ca, cert, key, passphrase, servername } = tls;
  checkServername(servername);
  const authorities = ca === undefined ? undefined : checkAuthorities(ca);
  checkPair(cert, key, passphrase);
  try {
    // The context that all connections share.
    const context = createSecureContext({
      minVersion: 'TLSv1.2',
      ca: authorities,
      ...(cert !== undefined && { cert: bytesOf(cert), key: bytesOf(key!), passphrase }),
    });
    return { context, servername };
  } catch (thrown) {
    throw new DqError('DQ_CONFIG', `\`tls\` cannot be used: ${toError(thrown).message}`, { cause: thrown });
  }
}

function checkServername(servername: unknown): void {
  if (servername === undefined) return;
  if (typeof servername !== 'string' || !/^[\w.-]+$/.test(servername) || isIP(servername) !== 0)
    throw wrong('`tls.servername`', servername, "the name of a host, such as 'beanstalkd.internal'");
}

function checkAuthorities(ca: Pem | readonly Pem[]): string[] {
  const all: readonly unknown[] = Array.isArray(ca) ? ca : [ca];
  if (all.length === 0)
    throw new DqError(
      'DQ_CONFIG',
      '`tls.ca` is a list without any: expected one certificate or more, or no `ca` at all for those that Node trusts',
    );
  return all.flatMap((each, i) => certificatesOf(Array.isArray(ca) ? `tls.ca[${i}]` : 'tls.ca', each));
}

function checkPair(cert: unknown, key: unknown, passphrase: unknown): void {
  if ((cert === undefined) !== (key === undefined)) {
    const [given, missing] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    throw new DqError(
      'DQ_CONFIG',
      `\`tls.${given}\` is given without \`tls.${missing}\`: expected both or neither`,
    );
  }
  if (passphrase !== undefined && typeof passphrase !== 'string')
    throw new DqError('DQ_CONFIG', `\`tls.passphrase\` is ${kindOf(passphrase)}: expected a text`);
  if (passphrase !== undefined && key === undefined)
    throw new DqError(
      'DQ_CONFIG',
      '`tls.passphrase` is given without `tls.key`: expected the key that it opens',
    );
  if (cert === undefined) return;
  const [own] = certificatesOf('tls.cert', cert);
  if (!new X509Certificate(own!).checkPrivateKey(privateKey(key, passphrase)))
    throw new DqError(
      'DQ_CONFIG',
      '`tls.key` does not belong to `tls.cert`: expected the key of its first certificate',
    );
}

function privateKey(key: unknown, passphrase: string | undefined): KeyObject {
  const bytes = pemBytes('tls.key', key);
  try {
    return createPrivateKey({ key: bytes, format: 'pem', passphrase });
  } catch (thrown) {
    const isLocked = bytes.includes('ENCRYPTED');
    const fact = !isLocked
      ? `is no private key: expected ${EXPECTED_PEM}`
      : passphrase === undefined
        ? 'is encrypted: expected `tls.passphrase`, too'
        : 'is encrypted, and `tls.passphrase` does not open it';
    throw new DqError('DQ_CONFIG', `\`tls.key\` ${fact}`, { cause: thrown });
  }
}

/** Each by itself: OpenSSL takes no notice of what it cannot read. */
function certificatesOf(name: string, given: unknown): string[] {
  const found = pemBytes(name, given).toString('latin1').match(CERTIFICATE);
  if (!found) throw new DqError('DQ_CONFIG', `\`${name}\` has no certificate: expected ${EXPECTED_PEM}`);
  for (const [i, each] of found.entries()) {
    try {
      new X509Certificate(each);
    } catch (thrown) {
      const fact = `certificate ${i + 1} of \`${name}\` cannot be read: ${toError(thrown).message}`;
      throw new DqError('DQ_CONFIG', fact, { cause: thrown });
    }
  }
  return found;
}

function pemBytes(name: string, given: unknown): Buffer {
  if (typeof given === 'string' || given instanceof Uint8Array) return bytesOf(given);
  throw new DqError('DQ_CONFIG', `\`${name}\` is ${kindOf(given)}: expected ${EXPECTED_PEM}`);
}

function bytesOf(pem: Pem): Buffer {
  return Buffer.from(pem as string);
}

/** All that may be shown of a value in which a key may stand. */
function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}
