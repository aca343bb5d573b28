// Certificates and private keys, as users give them. No message shows what is in one.
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { DqError, toError } from './errors.js';

/** A text in PEM, or its bytes. */
export type Pem = string | Uint8Array;

/** A value given by the user, with the user's name for it. */
interface Named<T = unknown> {
  readonly name: string;
  readonly given: T;
}

const CERTIFICATE = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^]*?-----END (?:TRUSTED )?CERTIFICATE-----/g;
const EXPECTED_PEM = "a PEM string or its bytes, such as readFileSync('ca.pem'), not a path";

/**
 * The certificates in a text, each by itself: OpenSSL takes no notice of what it cannot read. `DQ_CONFIG`: there is none, or one that
 * cannot be read.
 */
export function certificatesOf({ name, given }: Named): string[] {
  const found = bytesOf({ name, given }).toString('latin1').match(CERTIFICATE);
  if (!found) throw bad(name, `contains no certificate: expected ${EXPECTED_PEM}`);
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

/**
 * A certificate, those between it and its authority behind it, and its key. `DQ_CONFIG`: they cannot be read, or do not belong together.
 * `passphrase`: how users may give one. @default they cannot, and the key must not be encrypted
 */
export function checkPair(
  cert: Named,
  key: Named,
  passphrase?: Named<string | undefined>,
): { cert: string; key: Buffer } {
  const certificates = certificatesOf(cert);
  const bytes = bytesOf(key);
  if (!new X509Certificate(certificates[0]!).checkPrivateKey(privateKey(key.name, bytes, passphrase)))
    throw bad(key.name, `does not belong to \`${cert.name}\`: expected the key of its first certificate`);
  return { cert: certificates.join('\n'), key: bytes };
}

function privateKey(
  name: string,
  bytes: Buffer,
  passphrase: Named<string | undefined> | undefined,
): KeyObject {
  try {
    return createPrivateKey({ key: bytes, format: 'pem', passphrase: passphrase?.given });
  } catch (thrown) {
    throw bad(name, whyNoKey(bytes, passphrase), thrown);
  }
}

function whyNoKey(bytes: Buffer, passphrase: Named<string | undefined> | undefined): string {
  if (!bytes.includes('ENCRYPTED')) return `is not a private key: expected ${EXPECTED_PEM}`;
  if (!passphrase) return 'is encrypted: expected a key without a passphrase';
  return passphrase.given === undefined
    ? `is encrypted: expected \`${passphrase.name}\` as well`
    : `is encrypted, and \`${passphrase.name}\` does not decrypt it`;
}

function bytesOf({ name, given }: Named): Buffer {
  if (typeof given === 'string' || given instanceof Uint8Array) return Buffer.from(given as string);
  throw bad(name, `is ${kindOf(given)}: expected ${EXPECTED_PEM}`);
}

function bad(name: string, fact: string, cause?: unknown): DqError {
  return new DqError('DQ_CONFIG', `\`${name}\` ${fact}`, cause === undefined ? {} : { cause });
}

/** All that may be shown of a value in which a key may stand. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
