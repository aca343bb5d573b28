import { describe, expect, it } from '@jest/globals';
import { parseRef } from '../copies/job-ref.js';
import type { JobOptions, JobRef } from '../api/job.js';
import { embedded, failure, scripted } from '../../spec-support/producing.js';
import { defineTube } from '../api/tube.js';
import { KEY, BOOM, withDead, BURIED } from '../../spec-support/dead-job.js';

describe('a dead letter', () => {
  it.each<[string, JobOptions]>([
    ['plain', {}],
    ['keyed', { key: 'k' }],
  ])(
    'shows what died, when, and of what; its payload is in the buried copies: %s',
    async (_kind, options) => {
      const { deadLetters, receipt, clock, states } = await withDead(options);
      expect(await states()).toEqual(BURIED);
      const { letters, cursor } = await deadLetters.list('t');
      const { id, key, dueAt } = receipt;
      expect(letters).toEqual([
        {
          id,
          ref: expect.stringMatching(/^dq1\./),
          tube: 't',
          ...(key === undefined ? {} : { key }),
          payload: { a: 1 },
          dueAt,
          diedAt: new Date(clock.wall() - 5_000),
          attempt: 1,
          why: 'attempts',
          error: BOOM,
        },
      ]);
      expect(Object.keys(letters[0]!)).not.toContain(options.key ? '' : 'key');
      expect(cursor).toBeUndefined();
      expect(await deadLetters.get(receipt)).toEqual(letters[0]);
      expect(await deadLetters.get(letters[0]!)).toEqual(letters[0]);
      expect(await deadLetters.get(letters[0]!.ref)).toEqual(letters[0]);
      if (options.key) expect(await deadLetters.get(KEY)).toEqual(letters[0]);
    },
  );

  it('has no payload, and no key, while no copy is in reach', async () => {
    const { deadLetters, receipt, cut, restore, after } = await withDead({ key: 'k' });
    await cut(0, 1);
    expect(await after(1_000, deadLetters.get(receipt))).toMatchObject({ payload: { a: 1 }, key: 'k' });
    await cut(2);
    const letter = await after(1_000, deadLetters.get(receipt));
    expect(letter).toMatchObject({ id: receipt.id, why: 'attempts', error: BOOM });
    expect(Object.keys(letter!)).not.toContain('payload');
    expect(Object.keys(letter!)).not.toContain('key');
    await restore();
    expect(await deadLetters.get(receipt)).toMatchObject({ payload: { a: 1 }, key: 'k' });
  });

  it('has no payload when that is no JSON, which it may have died of', async () => {
    const { deadLetters, producer, nodes, bury, clock, run, copies } = await embedded();
    const receipt = await producer.delay('t', 1, '1s');
    const { id, due, places } = parseRef(receipt, '');
    for (const { index, location } of places) {
      const node = nodes.find(({ endpoint }) => location.startsWith(endpoint))!;
      const lane = node.connectLane(() => undefined)!;
      await lane.ask((done) => lane.delete(location.slice(location.lastIndexOf(':') + 1), done));
      const body = Buffer.from(`dq1 {"id":"${id}","due":${due},"n":3,"i":${index}}\n{"a":`);
      await lane.ask((done) => lane.put('t', [body], { priority: 1, delay: 0, ttr: 60 }, done));
      lane.close();
    }
    await clock.advance(1_000);
    await (await run((await copies())[0]!)).finish('dead', { death: { why: 'invalid' } });
    await bury();
    const { letters } = await deadLetters.list('t');
    expect(letters).toMatchObject([{ id, why: 'invalid' }]);
    expect(Object.keys(letters[0]!)).not.toContain('payload');
    expect(Object.keys(letters[0]!)).not.toContain('error');
    // A person decides: it can be revived, and given up.
    expect(await deadLetters.revive(receipt)).toBe('revived');
    expect((await copies()).map(({ payload }) => payload)).toContain('{"a":');
  });

  it.each<[string, JobOptions]>([
    ['plain', {}],
    ['keyed', { key: 'k' }],
  ])('is none of a job that is not dead, and the calls say what it is: %s', async (_kind, options) => {
    const { deadLetters, producer, clock, copies, run } = await embedded();
    const receipt = await producer.now('t', 1, options);
    const none = async (ref: JobRef, state: string) => {
      expect(await deadLetters.get(ref)).toBeUndefined();
      expect([await deadLetters.revive(ref), await deadLetters.discard(ref)]).toEqual([state, state]);
    };
    const byKey: JobRef = options.key ? KEY : receipt;
    await none(receipt, 'waiting');
    await none(byKey, 'waiting');
    await none({ tube: 'u', key: 'k' }, 'unknown');
    const [primary] = await copies();
    const first = await run(primary!);
    await none(receipt, 'running');
    await first.finish('retry', { due: clock.wall() });
    await none(byKey, 'retrying');
    const second = await run(primary!);
    await second.finish('done');
    await none(byKey, 'done');
    expect(await copies()).toHaveLength(3);
    const another = await producer.now('u', 1);
    await producer.revoke(another);
    await none(another, 'revoked');
  });

  it('of a tube with a prefix names the tube without it', async () => {
    const { deadLetters, receipt } = await withDead({ key: 'k' }, 'app.');
    const { letters } = await deadLetters.list(defineTube<{ a: number }>('t'));
    expect(letters).toMatchObject([{ tube: 't', key: 'k', payload: { a: 1 } }]);
    expect(await deadLetters.get(KEY)).toEqual(letters[0]);
    expect(parseRef(letters[0]!.ref, 'app.')).toMatchObject({ tube: 'app.t', id: receipt.id, key: 'k' });
    expect(await deadLetters.discard(letters[0]!.ref)).toBe('discarded');
  });
});

describe('the list of dead letters', () => {
  /** The ledger alone, with jobs that die at once. */
  async function dying(count: number) {
    const world = await embedded(1);
    const tube = world.memory.tube('t');
    const die = async (name: string) => {
      const header = { id: name, generation: 0, born: 0, due: world.clock.wall(), copies: 1, priority: 1 };
      const { finish } = await world.run({ header: { ...header, index: 0, siblings: [] } });
      await finish('dead');
    };
    for (let i = 0; i < count; i++) await die(`job-${i}`);
    return Object.assign(world, { tube, die });
  }

  it('is newest first, in pages that neither repeat nor miss one, also of one millisecond', async () => {
    const { deadLetters, clock, die } = await dying(300);
    await clock.advance(1);
    await die('newest');
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await deadLetters.list('t', { limit: 43, cursor });
      pages.push(page.letters.map(({ id }) => id));
      ({ cursor } = page);
    } while (cursor !== undefined);
    expect(pages.map(({ length }) => length)).toEqual(Array(7).fill(43)); // 301, and no empty page
    const seen = pages.flat();
    expect(seen[0]).toBe('newest');
    expect(new Set(seen).size).toBe(301);
  });

  it('has 50 letters by default, and at most 1000', async () => {
    const { deadLetters } = await dying(51);
    const { letters, cursor } = await deadLetters.list('t');
    expect([letters.length, typeof cursor]).toEqual([50, 'string']);
    const rest = await deadLetters.list('t', { cursor });
    expect([rest.letters.length, 'cursor' in rest]).toEqual([1, false]);
    expect((await deadLetters.list('t', { limit: 1_000 })).letters).toHaveLength(51);
    expect((await deadLetters.list('t', { limit: 51 })).cursor).toBeUndefined();
    expect(await deadLetters.list('another')).toEqual({ letters: [] });
  });

  it('continues after a letter that is gone by now, and shows new ones on its first page only', async () => {
    const { deadLetters, clock, die } = await dying(0);
    for (const name of ['a', 'b', 'c']) {
      await die(name);
      await clock.advance(1);
    }
    const first = await deadLetters.list('t', { limit: 2 });
    expect(first.letters.map(({ id }) => id)).toEqual(['c', 'b']);
    await deadLetters.discard(first.letters[1]!);
    await die('d');
    const second = await deadLetters.list('t', { cursor: first.cursor });
    expect(second.letters.map(({ id }) => id)).toEqual(['a']);
  });

  it.each<[string, string, unknown]>([
    ['no tube', 'DQ_BAD_TUBE', undefined],
    ['t', 'DQ_BAD_OPTION', null],
    ['t', 'DQ_BAD_OPTION', { limit: 0 }],
    ['t', 'DQ_BAD_OPTION', { limit: 1_001 }],
    ['t', 'DQ_BAD_OPTION', { limit: 1.5 }],
    ['t', 'DQ_BAD_OPTION', { limit: '5' }],
    ['t', 'DQ_BAD_OPTION', { cursor: '' }],
    ['t', 'DQ_BAD_OPTION', { cursor: 'x' }],
    ['t', 'DQ_BAD_OPTION', { cursor: 5 }],
    ['t', 'DQ_BAD_OPTION', { cursor: Buffer.from('[1,2]').toString('base64url') }],
    ['t', 'DQ_BAD_OPTION', { cursor: Buffer.from('null').toString('base64url') }],
    ['t', 'DQ_BAD_OPTION', { size: 5 }],
  ])('of %p refuses as %s: %p', async (tube, code, page) => {
    const { deadLetters, ledger } = await scripted();
    expect((await failure(deadLetters.list(tube, page as { limit: number }))).code).toBe(code);
    expect(ledger.asked).toEqual([]);
  });

  it('fails when the ledger does not answer', async () => {
    const { deadLetters, ledger } = await scripted();
    ledger.down = true;
    for (const call of [
      deadLetters.list('t'),
      deadLetters.get(KEY),
      deadLetters.revive(KEY),
      deadLetters.discard(KEY),
    ])
      expect((await failure(call)).code).toBe('DQ_LEDGER_DOWN');
  });
});
