import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { StoredTube } from '../api/tube.js';
import type { Seal } from '../seal/seal.js';
import { resolveSeal, type SealOptions } from './seal-option.js';

const KEY = randomBytes(32);
const keys = { '2026-11': KEY };
const resolve = (seal: unknown, prefix = '') => resolveSeal(seal as SealOptions | undefined, prefix);

/** Whether what one seals opens for the other. */
function isReadBy(one: Seal, other: Seal): boolean {
  const key = one.keyFor('t')!;
  const { text } = one.seal(key, Buffer.from('open'), Buffer.from('secret'));
  return typeof other.open(key.name, Buffer.from('open'), Buffer.from(text, 'latin1')) === 'object';
}

describe('the option seal', () => {
  it('seals and encrypts by default, and takes nothing else', () => {
    const seal = resolve({ keys, current: '2026-11' })!;
    expect(seal.settings).toEqual({
      encrypt: true,
      acceptsUnsealed: false,
      context: '',
      unsealed: new Set(),
    });
    expect(seal.keyFor('t')).toMatchObject({ name: '2026-11' });
    expect(resolve(undefined)).toBeUndefined();
  });

  it.each(['hex', 'base64', 'base64url'] as const)('takes keys as text in %s', (encoding) => {
    const seal = resolve({ keys: { a: KEY.toString(encoding) }, current: 'a' })!;
    expect(isReadBy(seal, resolve({ keys: { a: KEY }, current: 'a' })!)).toBe(true);
  });

  it('keeps its own copy of a key', () => {
    const given = Buffer.from(KEY);
    const seal = resolve({ keys: { a: given }, current: 'a' })!;
    given.fill(0);
    expect(isReadBy(seal, resolve({ keys: { a: KEY }, current: 'a' })!)).toBe(true);
  });

  it('knows the tubes that are not sealed with the prefix', () => {
    const seal = resolve({ keys, current: '2026-11', unsealed: ['legacy'] }, 'shop.')!;
    expect(seal.keyFor('shop.legacy' as StoredTube)).toBeUndefined();
    expect(seal.keyFor('shop.order' as StoredTube)).toMatchObject({ name: '2026-11' });
  });

  it('may only read, for the time of a change', () => {
    expect(resolve({ keys, accept: 'unsealed' })!.keyFor('t' as StoredTube)).toBeUndefined();
  });

  describe('with a function', () => {
    it('seals nothing before the function gave its keys', async () => {
      const seal = resolve({ keys: async () => ({ keys, current: '2026-11' }) })!;
      expect(() => seal.keyFor('t')).toThrow(/DQ_CONFIG: the keys of `seal` have not been fetched yet/);
      const { source } = seal.settings;
      expect(source!.refresh).toBe(300_000);
      seal.use(await source!.fetch());
      expect(seal.keyFor('t')).toMatchObject({ name: '2026-11' });
    });

    it.each([
      [undefined, /the result of the function `seal.keys` is "undefined": expected \{ keys, current \}/],
      [{ keys }, /`seal.current` is undefined/],
      [{ keys: {}, current: 'a' }, /`seal.keys` is \{\}/],
      [{ keys: { a: 'x' }, current: 'a' }, /the key "a" in `seal.keys` is 0 bytes/],
    ])('refuses %j of it', async (given, why) => {
      const { source } = resolve({ keys: () => given })!.settings;
      await expect(source!.fetch()).rejects.toThrow(why);
    });

    it('takes no other bytes for a name that it knows', () => {
      const seal = resolve({ keys, current: '2026-11' })!;
      const other = new Map([['2026-11', randomBytes(32)]]);
      expect(() => seal.use({ keys: other, current: '2026-11' })).toThrow(
        /the key "2026-11" of `seal.keys` has different bytes than before: expected a new name for a new key/,
      );
    });
  });

  it.each([
    [null, /`seal` is null: expected \{ keys, current \}/],
    [
      { keys, current: '2026-11', cipher: 'x' },
      /unknown option `seal.cipher`: expected one of keys, current, refresh, encrypt, accept, context, unsealed/,
    ],
    [{ current: 'a' }, /`seal.keys` is "undefined"/],
    [{ keys: {}, current: 'a' }, /`seal.keys` is \{\}: expected an object with at least one key/],
    [{ keys: { 'a b': KEY }, current: 'a b' }, /a name in `seal.keys` is "a b": expected 1 to 40 letters/],
    [
      { keys: { a: KEY.subarray(1) }, current: 'a' },
      /the key "a" in `seal.keys` is 31 bytes: expected 32 bytes/,
    ],
    [{ keys: { a: 'not a key!' }, current: 'a' }, /the key "a" in `seal.keys` is neither base64 nor hex/],
    [{ keys: { a: 7 }, current: 'a' }, /the key "a" in `seal.keys` is a number/],
    [
      { keys },
      /`seal.current` is undefined: expected the name of a key, or `accept: 'unsealed'` if there is none/,
    ],
    [{ keys, current: 'b' }, /`seal.current` names no key in `seal.keys`: expected one of 2026-11/],
    [{ keys, current: '2026-11', encrypt: 'yes' }, /`seal.encrypt` is "yes"/],
    [{ keys, current: '2026-11', accept: 'all' }, /`seal.accept` is "all": expected 'sealed' or 'unsealed'/],
    [
      { keys, current: '2026-11', unsealed: 'legacy' },
      /`seal.unsealed` is "legacy": expected an array of tubes/,
    ],
    [{ keys, current: '2026-11', unsealed: ['a b'] }, /`seal.unsealed`: /],
    [{ keys, current: '2026-11', refresh: '5m' }, /`seal.refresh` is "5m": expected no value/],
    [
      { keys: () => undefined, current: 'a' },
      /`seal.current` is set: expected no value, because the function/,
    ],
    [{ keys: () => undefined, refresh: '1s' }, /`seal.refresh` is "1s": expected 10000 ms or more/],
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
