/** Options for the connection to the brokers. */
import { withoutSecrets } from 'nest-handlers/log';
import type { Duration } from 'nest-handlers/time';
import type { ConnectionOptions } from 'node:tls';
import type { DriverFactory, SaslOptions } from '../driver/client-options.js';
import { checkOptions } from '../api/checks.js';
import { KqError, show } from '../errors.js';
import { checkOneOf, checkText, wrong } from './option-checks.js';

/** Broker address, login and driver. */
export interface BrokerOptions {
  /**
   * `host:port` of some Kafka brokers, from which the others are discovered. An undefined or empty value is `KQ_CONFIG`, never a
   * silent fallback to memory. `'memory'`: a log in this process, which creates a topic when it is first named and is lost with
   * the process.
   * @default `'memory'`, with a warning; `KQ_CONFIG` where `NODE_ENV` is `production`
   */
  brokers?: readonly string[] | 'memory';
  /** Name of this application in the brokers' logs and quotas. @default 'nest-kq' */
  clientId?: string;
  /** TLS: true, or options of Node's `tls.connect`; certificates are verified unless the options say otherwise. @default false */
  ssl?: boolean | ConnectionOptions;
  /**
   * Credentials: `mechanism` (`plain`, `scram-sha-256`, `scram-sha-512`), `username` and `password`; or `oauthbearer` with
   * `token`, a function that returns a `SaslToken`, for OAuth and AWS MSK IAM. @default none
   */
  sasl?: SaslOptions;
  /** Connection timeout, 100 ms to 10 minutes. @default '5s' */
  connectionTimeout?: Duration;
  /** Timeout of a request to a broker, 1 s to 10 minutes. @default '30s' */
  requestTimeout?: Duration;
  /**
   * Rack of this process, as in `broker.rack`: handlers read from a replica there instead of the leader. Requires
   * `replica.selector.class` on the brokers and Confluent's driver; `KQ_CONFIG` with any other driver. @default none
   */
  rack?: string;
  /**
   * Kafka client, such as `confluent(…)` of `nest-kq/confluent`. Not used for a log in memory.
   * @default kafkajs
   */
  driver?: DriverFactory;
}

/** Returns the brokers, or undefined for a log in memory. */
export function resolveBrokers(options: BrokerOptions): readonly string[] | undefined {
  if (!('brokers' in options)) {
    const lone = (['ssl', 'sasl', 'clientId', 'rack', 'driver'] as const).find(
      (name) => options[name] !== undefined,
    );
    if (lone === undefined) return undefined;
    throw new KqError('KQ_CONFIG', `\`${lone}\` is set without \`brokers\`: expected both`);
  }
  const { brokers }: { brokers?: unknown } = options;
  if (brokers === 'memory') return undefined;
  if (!Array.isArray(brokers) || brokers.length === 0)
    throw wrong('`brokers`', brokers, "a list such as ['localhost:9092'], or 'memory'");
  const checked = brokers.map((each: unknown, index) => checkBroker(each, index));
  const twice = checked.find((each, index) => checked.indexOf(each) !== index);
  if (twice !== undefined)
    throw new KqError(
      'KQ_CONFIG',
      `\`brokers\` has ${show(withoutSecrets(twice))} twice: expected each broker once`,
    );
  return checked;
}

export function resolveSsl(ssl: unknown): boolean | ConnectionOptions {
  if (typeof ssl === 'boolean') return ssl;
  if (typeof ssl === 'object' && ssl !== null && !Array.isArray(ssl)) return ssl;
  throw wrong('`ssl`', ssl, "true, false, or options of Node's tls.connect");
}

export function resolveDriver(driver: unknown): DriverFactory | undefined {
  if (driver === undefined || typeof driver === 'function') return driver as DriverFactory | undefined;
  throw wrong('`driver`', driver, 'a driver factory, such as confluent(…) of nest-kq/confluent');
}

const MECHANISMS = [
  'plain',
  'scram-sha-256',
  'scram-sha-512',
  'oauthbearer',
] as const satisfies SaslOptions['mechanism'][];

/** Never puts a password or token in an error message. */
export function resolveSasl(sasl: SaslOptions | undefined): SaslOptions | undefined {
  if (sasl === undefined) return undefined;
  if (typeof sasl !== 'object' || sasl === null)
    throw new KqError(
      'KQ_CONFIG',
      `\`sasl\` is a ${typeof sasl}: expected { mechanism, username, password }, or { mechanism, token }`,
    );
  const { mechanism } = sasl;
  if (mechanism === 'oauthbearer') {
    checkOptions('KQ_CONFIG', '`sasl`', sasl, ['mechanism', 'token']);
    const { token } = sasl;
    if (typeof token === 'function') return { mechanism, token };
    throw new KqError(
      'KQ_CONFIG',
      `\`sasl.token\` is a ${typeof token}: expected a function that returns { value }, since tokens expire`,
    );
  }
  checkOptions('KQ_CONFIG', '`sasl`', sasl, ['mechanism', 'username', 'password']);
  const { username, password } = sasl;
  if (typeof password !== 'string' || password === '')
    throw new KqError('KQ_CONFIG', '`sasl.password`: expected a non-empty string');
  return {
    mechanism: checkOneOf('sasl.mechanism', mechanism, MECHANISMS) as 'plain',
    username: checkText('sasl.username', username),
    password,
  };
}

/** Checks for `host:port`. kafkajs takes no IPv6 address. */
function checkBroker(broker: unknown, index: number): string {
  const [, port] = (typeof broker === 'string' && /^[^\s:[\]/@]+:(\d{1,5})$/.exec(broker)) || [];
  if (port !== undefined && Number(port) >= 1 && Number(port) <= 65_535) return broker as string;
  throw wrong(`\`brokers[${index}]\``, broker, 'host:port, such as localhost:9092');
}
