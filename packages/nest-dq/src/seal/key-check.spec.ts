import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { KeyCheck } from './key-check.js';
import { Seal } from './seal.js';

const [OURS, THEIRS] = [randomBytes(32), randomBytes(32)];
const SETTINGS = { encrypt: true, acceptsUnsealed: false, unsealed: new Set(['open']) };

let stored: Map<string, string>;
let clock: VirtualClock;
let told: string[];

/** As the ledger does it, with or without storing. */
async function read(own: ReadonlyMap<string, string>, stores: boolean): Promise<Map<string, string>> {
  for (const [name, print] of own) if (stores && !stored.has(name)) stored.set(name, print);
  return new Map([...stored].filter(([name]) => own.has(name)));
}

beforeEach(() => {
  stored = new Map();
  clock = new VirtualClock();
  told = [];
});

function sealWith(k1: Buffer, context = ''): Seal {
  const keys = new Map([
    ['k1', k1],
    ['same', Buffer.alloc(32, 1)],
  ]);
  return new Seal({ ...SETTINGS, context }, { keys, current: 'k1' });
}

function checkOf(seal: Seal, stores = true): KeyCheck {
  const note = (level: string) => (message: string) => void told.push(`${level}: ${message}`);
  return new KeyCheck({
    seal,
    read: (own) => read(own, stores),
    peek: (own) => read(own, false),
    clock,
    log: note('log'),
    error: note('error'),
  });
}

describe('a key whose name means other bytes elsewhere', () => {
  it('is refused by its name: nothing is sealed or read with it, and other keys and tubes still work', async () => {
    await checkOf(sealWith(THEIRS)).look();
    const seal = sealWith(OURS);
    const before = seal.keyFor('t')!;
    const sealed = Buffer.from(seal.seal(before, Buffer.alloc(0), Buffer.from('x')).text, 'latin1');
    expect(seal.open('k1', Buffer.alloc(0), sealed)).toHaveProperty('secret');
    await checkOf(seal).look();
    expect(seal.refused).toEqual(['k1']);
    expect(() => seal.keyFor('t')).toThrow(
      expect.objectContaining({ code: 'DQ_CONFIG', message: expect.stringContaining('the key "k1"') }),
    );
    expect(seal.open('k1', Buffer.alloc(0), sealed)).toBe('unknownKey');
    expect([seal.knows('k1'), seal.knows('same'), seal.keyFor('open')]).toEqual([false, true, undefined]);
    expect(told).toEqual([expect.stringMatching(/^error: .*"k1".*a new name for a new key$/)]);
  });

  it('is reported once, and used again once the name means its bytes again', async () => {
    await checkOf(sealWith(THEIRS)).look();
    const seal = sealWith(OURS);
    const check = checkOf(seal);
    await check.look();
    await check.look();
    expect(told).toHaveLength(1);
    stored.clear(); // Redis lost its data, and nobody has the other key any more
    await check.look();
    await clock.advance(14_000);
    await check.look();
    expect([seal.refused, stored.has('k1')]).toEqual([['k1'], false]);
    await clock.advance(1_000);
    await check.look();
    expect(seal.refused).toEqual([]);
    expect(seal.keyFor('t')).toMatchObject({ name: 'k1' });
    expect(told[1]).toMatch(/^log: /);
  });

  it('never takes the place of that of the others after Redis lost its data', async () => {
    const theirs = checkOf(sealWith(THEIRS));
    await theirs.look();
    const seal = sealWith(OURS);
    const ours = checkOf(seal);
    await ours.look();
    stored.clear();
    await ours.look();
    await theirs.look();
    await ours.look();
    expect(seal.refused).toEqual(['k1']);
    expect(told).toHaveLength(1);
  });

  it('is also one of another context', async () => {
    await checkOf(sealWith(OURS)).look();
    const seal = sealWith(OURS, 'staging');
    await checkOf(seal).look();
    expect(seal.refused).toEqual(['k1', 'same']);
  });

  it('cannot be derived from what is stored, which has no byte of it', async () => {
    await checkOf(sealWith(OURS)).look();
    expect([...stored.keys()]).toEqual(['k1', 'same']);
    expect([...stored.values()].every((print) => /^[0-9a-f]{16}$/.test(print))).toBe(true);
    expect(OURS.toString('hex')).not.toContain(stored.get('k1')!);
  });
});

it('a process that only looks is refused all the same', async () => {
  await checkOf(sealWith(OURS), false).look();
  expect(stored.size).toBe(0);
  await checkOf(sealWith(THEIRS)).look();
  const seal = sealWith(OURS);
  await checkOf(seal, false).look();
  expect(seal.refused).toEqual(['k1']);
});
