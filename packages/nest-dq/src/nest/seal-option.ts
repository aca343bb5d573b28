import { storedTube, type StoredTube, type Tube } from '../api/tube.js';
import { KEY_BYTES, Seal } from '../seal/seal.js';
import { DqError, show } from '../errors.js';
import { asConfigError, checkBoolean, wrong } from './option-checks.js';

/** How jobs are sealed, so that nobody without the keys can read or change them, or make a handler run. docs/security.md. */
export interface SealOptions {
  /**
   * The keys by their names: 32 bytes each, or their text in base64 or hex. What was sealed with any of them is taken. A name has 1 to 40
   * letters, digits, dots, dashes and underscores.
   */
  keys: Readonly<Record<string, Uint8Array | string>>;
  /** The name of the key that seals. @default none: nothing is sealed yet, which needs `accept: 'unsealed'` */
  current?: string;
  /** False: payloads, keys, headers and groups can be read by anybody, but not changed. @default true */
  encrypt?: boolean;
  /** `'unsealed'`: copies without a seal run, too, for the time of a change. @default 'sealed' */
  accept?: 'sealed' | 'unsealed';
  /** Tubes that are not sealed, as others use them who have no seal. @default none */
  unsealed?: readonly (string | Tube)[];
}

const NAMES = ['keys', 'current', 'encrypt', 'accept', 'unsealed'];
const KEY_NAME = /^[\w.-]{1,40}$/;
const EXPECTED_KEY = `${KEY_BYTES} bytes, or their text in base64 or hex`;

/** `DQ_CONFIG`. No message shows a key. */
export function resolveSeal(seal: SealOptions | undefined, prefix: string): Seal | undefined {
  if (seal === undefined) return undefined;
  if (typeof seal !== 'object' || seal === null) throw wrong('`seal`', seal, '{ keys, current }');
  const unknown = Object.keys(seal).find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    throw new DqError('DQ_CONFIG', `there is no \`seal.${unknown}\`: expected ${NAMES.join(', ')}`);
  const { keys: given, current, encrypt = true, accept = 'sealed', unsealed = [] } = seal;
  const keys = checkKeys(given);
  if (accept !== 'sealed' && accept !== 'unsealed')
    throw wrong('`seal.accept`', accept, "'sealed' or 'unsealed'");
  if (current === undefined && accept !== 'unsealed')
    throw wrong('`seal.current`', current, "the name of a key; without one, `accept: 'unsealed'`");
  if (current !== undefined && !keys.has(current))
    throw wrong('`seal.current`', current, `the name of a key: ${[...keys.keys()].join(', ')}`);
  if (!Array.isArray(unsealed)) throw wrong('`seal.unsealed`', unsealed, 'a list of tubes');
  return new Seal({
    keys,
    current,
    encrypt: checkBoolean('seal.encrypt', encrypt),
    acceptsUnsealed: accept === 'unsealed',
    unsealed: new Set(
      asConfigError('`seal.unsealed`: ', () =>
        (unsealed as (string | Tube)[]).map((tube): StoredTube => storedTube(tube, prefix)),
      ),
    ),
  });
}

function checkKeys(given: unknown): ReadonlyMap<string, Buffer> {
  if (typeof given !== 'object' || given === null || Object.keys(given).length === 0)
    throw wrong(
      '`seal.keys`',
      typeof given === 'object' ? given : typeof given,
      'an object with a key or more, by name',
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
