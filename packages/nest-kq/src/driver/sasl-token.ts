/** Login tokens. Never put into an error or the log. */
import { KqError, toError } from '../errors.js';

/** Result of the function `token` of `sasl`. */
export interface SaslToken {
  /** The token as issued by the identity provider or the AWS signer. */
  readonly value: string;
  /** Expiry in ms since 1970. Confluent's client requires it; kafkajs learns it from the broker. */
  readonly lifetime?: number;
  /** The principal. Confluent's client may require it. @default '' */
  readonly principal?: string;
  /** SASL extensions, such as `logicalCluster` of Confluent Cloud. @default none */
  readonly extensions?: Readonly<Record<string, string>>;
}

/** Excludes characters that would end the login message or start another part of it. */
const TOKEN = /^[\x21-\x7e]+$/;
const NAME = /^[A-Za-z]+$/;
const VALUE = /^[\x20-\x7e\t\r\n]*$/;

/**
 * Resolves with a checked token. Rejects with `KQ_AWAY` if the function fails, and with `KQ_CONFIG` if its result isn't a token.
 */
export async function tokenOf(ask: () => SaslToken | Promise<SaslToken>): Promise<SaslToken> {
  let token: Partial<SaslToken> | null | undefined;
  try {
    token = await ask();
  } catch (thrown) {
    throw new KqError('KQ_AWAY', `cannot log in to Kafka: \`sasl.token\` failed: ${toError(thrown).message}`);
  }
  const { value, lifetime, principal = '', extensions = {} } = token ?? {};
  if (typeof value !== 'string' || !TOKEN.test(value))
    throw wrong('value', '{ value } with a string of visible ASCII characters');
  if (lifetime !== undefined && !Number.isSafeInteger(lifetime))
    throw wrong('lifetime', 'milliseconds since 1970');
  if (typeof principal !== 'string') throw wrong('principal', 'a string');
  const pairs: [string, unknown][] = Object.entries(extensions);
  if (!pairs.every(([name, each]) => NAME.test(name) && typeof each === 'string' && VALUE.test(each)))
    throw wrong('extensions', 'string values under names of letters only');
  return { value, lifetime, principal, extensions };
}

function wrong(name: string, expected: string): KqError {
  return new KqError(
    'KQ_CONFIG',
    `\`${name}\` in the result of \`sasl.token\` is wrong: expected ${expected}`,
  );
}
