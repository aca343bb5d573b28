import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { KeyFetcher } from './key-fetcher.js';
import { Seal, type SealKeys } from './seal.js';

const [OLD, NEW] = [randomBytes(32), randomBytes(32)];
const SETTINGS = { encrypt: true, acceptsUnsealed: false, unsealed: new Set<string>() };
const MINUTE = 60_000;

let clock: VirtualClock;
let seal: Seal;
let warnings: string[];
let fetches: number;
/** The user's function. */
let give: () => Promise<SealKeys>;
let fetcher: KeyFetcher;
let renewals: number;

beforeEach(() => {
  clock = new VirtualClock();
  seal = new Seal(SETTINGS);
  warnings = [];
  fetches = renewals = 0;
  const fetch = () => {
    fetches++;
    return give();
  };
  fetcher = new KeyFetcher(
    seal,
    { fetch, refresh: 5 * MINUTE },
    clock,
    (message) => warnings.push(message),
    () => renewals++,
  );
});

const keysOf = (current: string, keys: Record<string, Buffer>): SealKeys => ({
  keys: new Map(Object.entries(keys)),
  current,
});

describe('the keys of a function', () => {
  it('are fetched once before the start, and again after each refresh', async () => {
    give = async () => keysOf('old', { old: OLD });
    await Promise.all([fetcher.load(), fetcher.load()]);
    expect(seal.keyFor('t')).toMatchObject({ name: 'old' });
    fetcher.start();
    give = async () => keysOf('new', { old: OLD, new: NEW });
    await clock.advance(5 * MINUTE - 1);
    expect([fetches, renewals]).toEqual([1, 0]);
    await clock.advance(1);
    expect(seal.keyFor('t')).toMatchObject({ name: 'new' });
    await clock.advance(5 * MINUTE);
    expect([fetches, renewals]).toEqual([3, 2]);
    fetcher.close();
    await clock.advance(MINUTE * 60);
    expect(fetches).toBe(3);
    expect(warnings).toEqual([]);
  });

  it('are fetched when a copy names an unknown one, though not often', async () => {
    give = async () => keysOf('old', { old: OLD });
    await fetcher.load();
    expect(seal.askForKeys()).toBe(false); // nothing has started
    fetcher.start();
    expect(seal.askForKeys()).toBe(false); // they are just fetched
    await clock.advance(10_000);
    give = async () => keysOf('new', { old: OLD, new: NEW });
    expect([seal.askForKeys(), seal.askForKeys()]).toEqual([true, true]);
    await clock.advance(0);
    expect(fetches).toBe(2);
    expect(seal.keyFor('t')).toMatchObject({ name: 'new' });
    expect(seal.askForKeys()).toBe(false);
    fetcher.close();
    await clock.advance(10_000);
    expect(seal.askForKeys()).toBe(false);
  });

  it.each([
    [
      'fails',
      () => Promise.reject(new Error('the vault is sealed')),
      /`seal.keys` failed: the vault is sealed/,
    ],
    [
      'gives none in time',
      () => new Promise<never>(() => undefined),
      /`seal.keys` returned no keys within 30 s/,
    ],
    [
      'has another key of the same name',
      async () => keysOf('old', { old: NEW }),
      /"old" .* different bytes than before/,
    ],
  ])('stay in use where it %s later', async (_, fault, why) => {
    give = async () => keysOf('old', { old: OLD });
    await fetcher.load();
    fetcher.start();
    give = fault;
    await clock.advance(5 * MINUTE);
    await clock.advance(30_000);
    expect(warnings).toEqual([expect.stringMatching(why)]);
    expect(warnings[0]).toMatch(/^the previous keys stay in use: /);
    expect(seal.keyFor('t')).toMatchObject({ name: 'old' });
    give = async () => keysOf('new', { old: OLD, new: NEW });
    await clock.advance(5 * MINUTE);
    expect(seal.keyFor('t')).toMatchObject({ name: 'new' });
    fetcher.close();
  });

  it('fail the start with the reason', async () => {
    give = () => Promise.reject(new Error('the vault is sealed'));
    await expect(fetcher.load()).rejects.toMatchObject({
      code: 'DQ_CONFIG',
      message: 'DQ_CONFIG: `seal.keys` failed: the vault is sealed',
    });
    expect(() => seal.keyFor('t')).toThrow(/not been fetched yet/);
  });
});
