import type { Duration } from 'nest-handlers/time';
import { withoutSecrets } from 'nest-handlers/log';
import { checkOptions, milliseconds, wholeNumber } from '../api/checks.js';
import { KqError, show, toError } from '../errors.js';

/** Connection options of a schema registry. */
export interface RegistryOptions {
  /** URL of its REST API, such as `https://registry:8081`; several are tried in order. */
  url: string | readonly string[];
  /**
   * Credentials: user and password, a bearer token, or a function that returns the token for each request.
   * @default none
   */
  auth?: { username: string; password: string } | { token: string | (() => string | Promise<string>) };
  /** Timeout of one request, 100 ms to a minute. @default '5s' */
  timeout?: Duration;
  /**
   * Max schemas kept in memory, 1 to 100,000; beyond that the oldest is dropped and looked up again when needed. @default 1_000
   */
  cacheSize?: number;
}

export interface RegistrySettings {
  /** Without a trailing slash. */
  readonly urls: readonly string[];
  readonly timeout: number;
  readonly cacheSize: number;
  /** Resolves with the authorization header. */
  authorize(): Promise<Readonly<Record<string, string>>>;
}

const NAMES: readonly string[] = [
  'url',
  'auth',
  'timeout',
  'cacheSize',
] satisfies readonly (keyof RegistryOptions)[];

/** Checks the options and fills in the defaults; throws `KQ_CONFIG`. */
export function resolveRegistryOptions(options: RegistryOptions): RegistrySettings {
  checkOptions('KQ_CONFIG', 'SchemaRegistry', options, NAMES);
  const { url, auth, timeout = '5s', cacheSize = 1_000 } = options;
  const list = Array.isArray(url) ? (url as readonly unknown[]) : [url];
  if (list.length === 0) throw wrong('url', url, URLS);
  return {
    urls: list.map(checkUrl),
    timeout: milliseconds('KQ_CONFIG', '`timeout` of SchemaRegistry', timeout, 100, 60_000),
    cacheSize: wholeNumber('KQ_CONFIG', '`cacheSize` of SchemaRegistry', cacheSize, 1, 100_000),
    authorize: authorization(auth),
  };
}

const URLS = 'http://… or https://…, or a list of them';
const AUTH = '{ username, password } or { token }';

function wrong(name: string, value: unknown, expected: string): KqError {
  return new KqError(
    'KQ_CONFIG',
    `\`${name}\` of SchemaRegistry is ${show(withoutSecrets(value))}: expected ${expected}`,
  );
}

function checkUrl(given: unknown): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol)) throw wrong('url', given, URLS);
  if (url.username || url.password || url.search || url.hash)
    throw wrong('url', given, 'a URL without login and query; pass the login as `auth`');
  return url.href.replace(/\/+$/, '');
}

/** Never puts a secret in an error. */
function authorization(auth: RegistryOptions['auth']): RegistrySettings['authorize'] {
  if (auth === undefined) return async () => ({});
  if (typeof auth !== 'object' || auth === null)
    throw new KqError('KQ_CONFIG', `\`auth\` of SchemaRegistry is a ${typeof auth}: expected ${AUTH}`);
  if ('token' in auth) {
    checkOptions('KQ_CONFIG', '`auth`', auth, ['token']);
    const { token } = auth;
    if (typeof token === 'function') return async () => bearer(await asked(token));
    const header = bearer(token, 'KQ_CONFIG');
    return async () => header;
  }
  checkOptions('KQ_CONFIG', '`auth`', auth, ['username', 'password']);
  const { username, password } = auth;
  if (typeof username !== 'string' || username === '' || username.includes(':'))
    throw wrong('auth.username', username, 'a non-empty string without a colon');
  if (typeof password !== 'string' || password === '')
    throw new KqError('KQ_CONFIG', '`auth.password` of SchemaRegistry: expected a non-empty string');
  const header = { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
  return async () => header;
}

async function asked(token: () => string | Promise<string>): Promise<string> {
  try {
    return await token();
  } catch (thrown) {
    throw new KqError('KQ_REGISTRY', `\`auth.token\` of SchemaRegistry failed: ${toError(thrown).message}`);
  }
}

/** Characters allowed in a header: `fetch` would repeat anything else in its error. */
const TOKEN = /^[\x21-\x7e]+$/;

function bearer(token: unknown, code: 'KQ_CONFIG' | 'KQ_REGISTRY' = 'KQ_REGISTRY') {
  if (typeof token === 'string' && TOKEN.test(token)) return { authorization: `Bearer ${token}` };
  const fact =
    typeof token === 'string' ? 'is empty or has spaces or line breaks' : `is ${show(typeof token)}`;
  throw new KqError(
    code,
    `the token of SchemaRegistry ${fact}: expected a string of visible ASCII characters`,
  );
}
