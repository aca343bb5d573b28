/** Tokens by which an application logs in. None stands in an error or in the log. */
import { KqError, toError } from '../errors.js';

/** What the function `token` of `sasl` gives. */
export interface SaslToken {
  /** As the identity provider, or the signer of AWS, made it. */
  readonly value: string;
  /** Until when it is valid, in milliseconds since 1970. Confluent's client needs it; kafkajs learns it from the broker. */
  readonly lifetime?: number;
  /** Whose it is. Confluent's client may need it. @default '' */
  readonly principal?: string;
  /** Extensions of SASL, such as `logicalCluster` of Confluent Cloud. @default none */
  readonly extensions?: Readonly<Record<string, string>>;
}

/** What would end the message of the login, or begin another part of it. */
const TOKEN = /^[\x21-\x7e]+$/;
const NAME = /^[A-Za-z]+$/;
const VALUE = /^[\x20-\x7e\t\r\n]*$/;

/** Rejects with `KQ_AWAY` where the function fails, and `KQ_CONFIG` where what it gives is no token. */
export async function tokenOf(ask: () => SaslToken | Promise<SaslToken>): Promise<SaslToken> {
  let token: Partial<SaslToken> | null | undefined;
  try {
    token = await ask();
  } catch (thrown) {
    throw new KqError('KQ_AWAY', `cannot log in to Kafka: \`sasl.token\` failed: ${toError(thrown).message}`);
  }
  const { value, lifetime, principal = '', extensions = {} } = token ?? {};
  if (typeof value !== 'string' || !TOKEN.test(value))
    throw wrong('value', 'a string of visible ASCII characters, as { value: … }');
  if (lifetime !== undefined && !Number.isSafeInteger(lifetime))
    throw wrong('lifetime', 'milliseconds since 1970');
  if (typeof principal !== 'string') throw wrong('principal', 'a string');
  const pairs: [string, unknown][] = Object.entries(extensions);
  if (!pairs.every(([name, each]) => NAME.test(name) && typeof each === 'string' && VALUE.test(each)))
    throw wrong('extensions', 'names of letters, with strings');
  return { value, lifetime, principal, extensions };
}

function wrong(name: string, expected: string): KqError {
  return new KqError('KQ_CONFIG', `\`${name}\` of what \`sasl.token\` gave is wrong: expected ${expected}`);
}
