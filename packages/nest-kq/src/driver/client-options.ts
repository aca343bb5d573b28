import type { ConnectionOptions } from 'node:tls';
import type { Clock } from 'nest-handlers/time';
import type { DriverLog, LogDriver } from './driver.js';
import type { SaslToken } from './sasl-token.js';

interface Login<Mechanism> {
  readonly mechanism: Mechanism;
  readonly username: string;
  readonly password: string;
}

/** Login by a bearer token, such as of OAuth or of AWS MSK IAM. */
interface TokenLogin {
  readonly mechanism: 'oauthbearer';
  /** Gives a valid token. Called for each login: at each connection, and before the brokers end a session. */
  readonly token: () => SaslToken | Promise<SaslToken>;
}

/** How the brokers know who it is. */
export type SaslOptions = Login<'plain'> | Login<'scram-sha-256'> | Login<'scram-sha-512'> | TokenLogin;

export interface ClientOptions {
  /** `host:port` of some brokers, from which it learns of the others. */
  readonly brokers: readonly string[];
  readonly clock: Clock;
  readonly log: DriverLog;
  /** What the brokers' logs and quotas call it. @default 'nest-kq' */
  readonly clientId?: string;
  /** TLS: true, or the options of Node's `tls.connect`; certificates are verified unless they say otherwise. @default false */
  readonly ssl?: boolean | ConnectionOptions;
  /** @default no login */
  readonly sasl?: SaslOptions;
  /** Where this process runs, as `broker.rack` names it. Members fetch from a replica there. @default fetches from leaders */
  readonly rack?: string | undefined;
  /** How long a connection may take, in milliseconds. @default 5_000 */
  readonly connectionTimeout?: number;
  /** How long a broker may take to answer a request, in milliseconds. @default 30_000 */
  readonly requestTimeout?: number;
}

/** Makes the client of a log. It opens nothing before it is used. */
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
