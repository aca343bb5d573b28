import { storedTube, type StoredTube, type Tube } from '../api/tube.js';
import type { Duration } from 'nest-handlers/time';
import { KEY_BYTES, Seal, type SealKeys } from '../seal/seal.js';
import { DqError, show } from '../errors.js';
import { asConfigError, checkBoolean, checkDuration, wrong } from './option-checks.js';

/** Result of a `seal.keys` function. */
export interface FetchedSealKeys {
  /** Keys to open copies with, as in `SealOptions`. */
  keys: Readonly<Record<string, Uint8Array | string>>;
  /** Name of the key to seal with. @default none: nothing is sealed yet, which needs `accept: 'unsealed'` */
  current?: string;
}

/** Settings for sealing jobs, so that nobody without the keys can read or change them, or make a handler run. See docs/security.md. */
export interface SealOptions {
  /**
   * Keys to open copies with, by name; a copy sealed with any of them is accepted. Each key is 32 bytes, raw or as a base64 or
   * hex string; a name has 1 to 40 letters, digits, dots, dashes and underscores. Or a function that returns `{ keys, current }`, for
   * example from a secrets service. It is called at startup, and if it fails, startup fails; then after each `refresh`, and when
   * a copy names an unknown key, at most every 10 s. It has 30 s to answer. If a later call fails, a warning is logged and the
   * previous keys stay in use. Never reuse a name for another key.
   */
  keys: Readonly<Record<string, Uint8Array | string>> | (() => FetchedSealKeys | Promise<FetchedSealKeys>);
  /**
   * Name of the key to seal with. Not allowed if `keys` is a function. @default none: nothing is sealed yet, which needs
   * `accept: 'unsealed'`
   */
  current?: string;
  /**
   * How long fetched keys are used before the function is called again; at least 10 seconds. Only if `keys` is a function.
   * @default '5m'
   */
  refresh?: Duration;
  /** With `false`, anybody can read payloads, keys, headers and groups, but not change them. @default true */
  encrypt?: boolean;
  /** `'unsealed'` also runs copies without a seal, for a migration. @default 'sealed' */
  accept?: 'sealed' | 'unsealed';
  /**
   * Name of the cluster, such as `'production'`, the same in all its processes. Anything sealed with another context is rejected,
   * even with the same keys. Up to 100 ASCII characters. @default none: this cluster then runs anything sealed with the same keys
   * by a cluster without a context
   */
  context?: string;
  /** Tubes that are not sealed, because others without a seal use them. @default none */
  unsealed?: readonly (string | Tube)[];
}

const NAMES = ['keys', 'current', 'refresh', 'encrypt', 'accept', 'context', 'unsealed'];
const KEY_NAME = /^[\w.-]{1,40}$/;
const EXPECTED_KEY = `${KEY_BYTES} bytes, raw or as a base64 or hex string`;
/** In ms. */
const LEAST_REFRESH = 10_000;

/** Validates the `seal` option. `DQ_CONFIG`. No message shows a key. */
export function resolveSeal(seal: SealOptions | undefined, prefix: string): Seal | undefined {
  if (seal === undefined) return undefined;
  if (typeof seal !== 'object' || seal === null)
    throw new DqError(
      'DQ_CONFIG',
      `\`seal\` is ${seal === null ? 'null' : `a ${typeof seal}`}: expected { keys, current }`,
    ); // it may be a key
  const unknown = Object.keys(seal).find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    throw new DqError('DQ_CONFIG', `unknown option \`seal.${unknown}\`: expected one of ${NAMES.join(', ')}`);
  const { keys, current, refresh, encrypt = true, accept = 'sealed', context = '', unsealed = [] } = seal;
  if (accept !== 'sealed' && accept !== 'unsealed')
    throw wrong('`seal.accept`', accept, "'sealed' or 'unsealed'");
  if (typeof context !== 'string' || !/^[ -~]{0,100}$/.test(context))
    throw wrong('`seal.context`', context, "at most 100 ASCII characters, such as 'production'");
  if (!Array.isArray(unsealed)) throw wrong('`seal.unsealed`', unsealed, 'an array of tubes');
  const settings = {
    encrypt: checkBoolean('seal.encrypt', encrypt),
    acceptsUnsealed: accept === 'unsealed',
    context,
    unsealed: new Set(
      asConfigError('`seal.unsealed`: ', () =>
        (unsealed as (string | Tube)[]).map((tube): StoredTube => storedTube(tube, prefix)),
      ),
    ),
  };
  if (typeof keys !== 'function') {
    if (refresh !== undefined)
      throw wrong('`seal.refresh`', refresh, 'no value, because `seal.keys` is not a function to call again');
    return new Seal(settings, checkKeys({ keys, current }, accept));
  }
  if (current !== undefined)
    throw new DqError(
      'DQ_CONFIG',
      '`seal.current` is set: expected no value, because the function `seal.keys` returns it with the keys',
    );
  const source = {
    fetch: async () => checkKeys(await keys(), accept),
    refresh: checkDuration('seal.refresh', refresh ?? '5m', LEAST_REFRESH),
  };
  return new Seal({ ...settings, source });
}

function checkKeys(given: FetchedSealKeys, accept: SealOptions['accept']): SealKeys {
  if (typeof given !== 'object' || given === null)
    throw wrong('the result of the function `seal.keys`', typeof given, '{ keys, current }');
  const { current } = given;
  const keys = checkEach(given.keys);
  if (current === undefined && accept !== 'unsealed')
    throw wrong('`seal.current`', current, "the name of a key, or `accept: 'unsealed'` if there is none");
  if (current !== undefined && !keys.has(current))
    throw new DqError(
      'DQ_CONFIG',
      `\`seal.current\` names no key in \`seal.keys\`: expected one of ${[...keys.keys()].join(', ')}`, // it may be a key
    );
  return { keys, current };
}

function checkEach(given: unknown): ReadonlyMap<string, Buffer> {
  if (typeof given !== 'object' || given === null || Object.keys(given).length === 0)
    throw wrong(
      '`seal.keys`',
      typeof given === 'object' ? given : typeof given,
      'an object with at least one key by name, or a function that returns { keys, current }',
    );
  return new Map(
    Object.entries(given).map(([name, key]) => {
      if (!KEY_NAME.test(name))
        throw wrong('a name in `seal.keys`', name, '1 to 40 letters, digits, dots, dashes and underscores');
      return [name, checkKey(name, key)];
    }),
  );
}

function checkKey(name: string, key: unknown): Buffer {
  const bytes =
    key instanceof Uint8Array ? Buffer.from(key) : typeof key === 'string' ? bytesOf(key) : undefined;
  if (bytes?.length === KEY_BYTES) return bytes;
  const what = bytes
    ? `${bytes.length} bytes`
    : typeof key === 'string'
      ? 'neither base64 nor hex'
      : `a ${typeof key}`;
  throw new DqError(
    'DQ_CONFIG',
    `the key ${show(name)} in \`seal.keys\` is ${what}: expected ${EXPECTED_KEY}`,
  );
}

function bytesOf(text: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  return /^[\w+/-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}
