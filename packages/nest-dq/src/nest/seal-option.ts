import { storedTube, type StoredTube, type Tube } from '../api/tube.js';
import type { Duration } from 'nest-handlers/time';
import { KEY_BYTES, Seal, type SealKeys } from '../seal/seal.js';
import { DqError, show } from '../errors.js';
import { asConfigError, checkBoolean, checkDuration, wrong } from './option-checks.js';

/** Keys by their names: 32 bytes each, or their text in base64 or hex. A name has 1 to 40 letters, digits, dots, dashes and underscores. */
export type SealKeyTexts = Readonly<Record<string, Uint8Array | string>>;

/** What a function gives that `seal.keys` is. */
export interface FetchedSealKeys {
  /** What was sealed with any of them is taken. */
  keys: SealKeyTexts;
  /** The name of the key that seals. @default none: nothing is sealed yet, which needs `accept: 'unsealed'` */
  current?: string;
}

/** How jobs are sealed, so that nobody without the keys can read or change them, or make a handler run. docs/security.md. */
export interface SealOptions {
  /**
   * What was sealed with any of them is taken. Or a function that gives `{ keys, current }`, as from a service for secrets: it is called at the
   * start, which fails if it does; then after each `refresh`, and when a copy names a key that is unknown, at most every 10 s. It has 30 s.
   * If it fails then, a warning says so, and the keys of before stay in use. A name must never mean another key.
   */
  keys: SealKeyTexts | (() => FetchedSealKeys | Promise<FetchedSealKeys>);
  /** The name of the key that seals. Not with a function. @default none: nothing is sealed yet, which needs `accept: 'unsealed'` */
  current?: string;
  /** With a function: how long its keys are used before it is asked again, in a `Duration`; at least 10 seconds. @default '5m' */
  refresh?: Duration;
  /** False: payloads, keys, headers and groups can be read by anybody, but not changed. @default true */
  encrypt?: boolean;
  /** `'unsealed'`: copies without a seal run, too, for the time of a change. @default 'sealed' */
  accept?: 'sealed' | 'unsealed';
  /**
   * Which cluster it is, such as `'production'`, the same in all its processes. What was sealed with another context is refused, also with the same
   * keys. Up to 100 characters of ASCII. @default none: what any cluster without a context sealed with the same keys runs in this one
   */
  context?: string;
  /** Tubes that are not sealed, as others use them who have no seal. @default none */
  unsealed?: readonly (string | Tube)[];
}

const NAMES = ['keys', 'current', 'refresh', 'encrypt', 'accept', 'context', 'unsealed'];
const KEY_NAME = /^[\w.-]{1,40}$/;
const EXPECTED_KEY = `${KEY_BYTES} bytes, or their text in base64 or hex`;
/** Milliseconds. */
const LEAST_REFRESH = 10_000;

/** `DQ_CONFIG`. No message shows a key. */
export function resolveSeal(seal: SealOptions | undefined, prefix: string): Seal | undefined {
  if (seal === undefined) return undefined;
  if (typeof seal !== 'object' || seal === null)
    throw new DqError(
      'DQ_CONFIG',
      `\`seal\` is ${seal === null ? 'null' : `a ${typeof seal}`}: expected { keys, current }`,
    ); // it may be a key
  const unknown = Object.keys(seal).find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    throw new DqError('DQ_CONFIG', `there is no \`seal.${unknown}\`: expected ${NAMES.join(', ')}`);
  const { keys, current, refresh, encrypt = true, accept = 'sealed', context = '', unsealed = [] } = seal;
  if (accept !== 'sealed' && accept !== 'unsealed')
    throw wrong('`seal.accept`', accept, "'sealed' or 'unsealed'");
  if (typeof context !== 'string' || !/^[ -~]{0,100}$/.test(context))
    throw wrong('`seal.context`', context, 'up to 100 characters of ASCII, such as production');
  if (!Array.isArray(unsealed)) throw wrong('`seal.unsealed`', unsealed, 'a list of tubes');
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
      throw wrong(
        '`seal.refresh`',
        refresh,
        'no value, as `seal.keys` is no function that could be asked again',
      );
    return new Seal(settings, checkKeys({ keys, current }, accept));
  }
  if (current !== undefined)
    throw new DqError(
      'DQ_CONFIG',
      '`seal.current` is given: expected no value, as the function `seal.keys` gives it with the keys',
    );
  const source = {
    fetch: async () => checkKeys(await keys(), accept),
    refresh: checkDuration('seal.refresh', refresh ?? '5m', LEAST_REFRESH),
  };
  return new Seal({ ...settings, source });
}

function checkKeys(given: FetchedSealKeys, accept: SealOptions['accept']): SealKeys {
  if (typeof given !== 'object' || given === null)
    throw wrong('what the function `seal.keys` gave', typeof given, '{ keys, current }');
  const { current } = given;
  const keys = checkEach(given.keys);
  if (current === undefined && accept !== 'unsealed')
    throw wrong('`seal.current`', current, "the name of a key; without one, `accept: 'unsealed'`");
  if (current !== undefined && !keys.has(current))
    throw new DqError(
      'DQ_CONFIG',
      `\`seal.current\` names no key of \`seal.keys\`: expected one of ${[...keys.keys()].join(', ')}`, // it may be a key
    );
  return { keys, current };
}

function checkEach(given: unknown): ReadonlyMap<string, Buffer> {
  if (typeof given !== 'object' || given === null || Object.keys(given).length === 0)
    throw wrong(
      '`seal.keys`',
      typeof given === 'object' ? given : typeof given,
      'an object with a key or more, by name, or a function that gives { keys, current }',
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
    `the key ${show(name)} of \`seal.keys\` is ${what}: expected ${EXPECTED_KEY}`,
  );
}

function bytesOf(text: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  return /^[\w+/-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}
