import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { StoredTube } from '../api/tube.js';
import { resolveSeal, type SealOptions } from './seal-option.js';

const KEY = randomBytes(32);
const keys = { '2026-11': KEY };
const resolve = (seal: unknown, prefix = '') => resolveSeal(seal as SealOptions | undefined, prefix);

describe('the option seal', () => {
  it('seals and encrypts by default, and takes nothing else', () => {
    const { settings } = resolve({ keys, current: '2026-11' })!;
    expect(settings).toEqual({
      keys: new Map([['2026-11', KEY]]),
      current: '2026-11',
      encrypt: true,
      acceptsUnsealed: false,
      unsealed: new Set(),
    });
    expect(resolve(undefined)).toBeUndefined();
  });

  it.each(['hex', 'base64', 'base64url'] as const)('takes keys as text in %s', (encoding) => {
    const { settings } = resolve({ keys: { a: KEY.toString(encoding) }, current: 'a' })!;
    expect(settings.keys.get('a')).toEqual(KEY);
  });

  it('keeps its own copy of a key', () => {
    const given = Buffer.from(KEY);
    const { settings } = resolve({ keys: { a: given }, current: 'a' })!;
    given.fill(0);
    expect(settings.keys.get('a')).toEqual(KEY);
  });

  it('knows the tubes that are not sealed with the prefix', () => {
    const seal = resolve({ keys, current: '2026-11', unsealed: ['legacy'] }, 'shop.')!;
    expect(seal.keyFor('shop.legacy' as StoredTube)).toBeUndefined();
    expect(seal.keyFor('shop.order' as StoredTube)).toBe('2026-11');
  });

  it('may only read, for the time of a change', () => {
    expect(resolve({ keys, accept: 'unsealed' })!.keyFor('t' as StoredTube)).toBeUndefined();
  });

  it.each([
    [null, /`seal` is null: expected \{ keys, current \}/],
    [
      { keys, current: '2026-11', cipher: 'x' },
      /no `seal.cipher`: expected keys, current, encrypt, accept, unsealed/,
    ],
    [{ current: 'a' }, /`seal.keys` is "undefined"/],
    [{ keys: {}, current: 'a' }, /`seal.keys` is \{\}: expected an object with a key or more/],
    [{ keys: { 'a b': KEY }, current: 'a b' }, /a name in `seal.keys` is "a b": expected 1 to 40 letters/],
    [
      { keys: { a: KEY.subarray(1) }, current: 'a' },
      /the key "a" of `seal.keys` is 31 bytes: expected 32 bytes/,
    ],
    [{ keys: { a: 'not a key!' }, current: 'a' }, /the key "a" of `seal.keys` is neither base64 nor hex/],
    [{ keys: { a: 7 }, current: 'a' }, /the key "a" of `seal.keys` is a number/],
    [{ keys }, /`seal.current` is undefined: expected the name of a key; without one, `accept: 'unsealed'`/],
    [{ keys, current: 'b' }, /`seal.current` is "b": expected the name of a key: 2026-11/],
    [{ keys, current: '2026-11', encrypt: 'yes' }, /`seal.encrypt` is "yes"/],
    [{ keys, current: '2026-11', accept: 'all' }, /`seal.accept` is "all": expected 'sealed' or 'unsealed'/],
    [
      { keys, current: '2026-11', unsealed: 'legacy' },
      /`seal.unsealed` is "legacy": expected a list of tubes/,
    ],
    [{ keys, current: '2026-11', unsealed: ['a b'] }, /`seal.unsealed`: /],
  ])('refuses %j', (seal, why) => {
    expect(() => resolve(seal)).toThrow(why);
  });

  it('never shows a key', () => {
    for (const key of [KEY.toString('hex').slice(1), KEY.toString('base64').slice(4)]) {
      expect(() => resolve({ keys: { a: key }, current: 'a' })).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining(key) }),
      );
    }
  });
});
