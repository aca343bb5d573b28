import type { ConnectionOptions } from 'node:tls';
import type { Clock } from 'nest-handlers/time';
import type { DriverLog, LogDriver } from './driver.js';
import type { SaslToken } from './sasl-token.js';

interface Login<Mechanism> {
  readonly mechanism: Mechanism;
  readonly username: string;
  readonly password: string;
}

/** Login with a bearer token, such as of OAuth or AWS MSK IAM. */
interface TokenLogin {
  readonly mechanism: 'oauthbearer';
  /** Returns a valid token. Called for each login: at each connection, and before the brokers end a session. */
  readonly token: () => SaslToken | Promise<SaslToken>;
}

/** Credentials for the brokers. */
export type SaslOptions = Login<'plain'> | Login<'scram-sha-256'> | Login<'scram-sha-512'> | TokenLogin;

export interface ClientOptions {
  /** `host:port` of some brokers, from which the others are discovered. */
  readonly brokers: readonly string[];
  readonly clock: Clock;
  readonly log: DriverLog;
  /** Name in the brokers' logs and quotas. @default 'nest-kq' */
  readonly clientId?: string;
  /** TLS: true, or options of Node's `tls.connect`; certificates are verified unless the options say otherwise. @default false */
  readonly ssl?: boolean | ConnectionOptions;
  /** @default no login */
  readonly sasl?: SaslOptions;
  /** Rack of this process, as in `broker.rack`. Members fetch from a replica there. @default fetches from leaders */
  readonly rack?: string | undefined;
  /** Connection timeout in ms. @default 5_000 */
  readonly connectionTimeout?: number;
  /** Timeout of a request to a broker, in ms. @default 30_000 */
  readonly requestTimeout?: number;
}

/** Creates the client of a log. It opens nothing before it is used. */
export type DriverFactory = (options: ClientOptions) => LogDriver;

const DEFAULTS = {
  clientId: 'nest-kq',
  ssl: false,
  sasl: undefined,
  rack: undefined,
  connectionTimeout: 5_000,
  requestTimeout: 30_000,
};

export function resolveClientOptions(options: ClientOptions) {
  return { ...DEFAULTS, ...options };
}

export type ClientSettings = ReturnType<typeof resolveClientOptions>;
