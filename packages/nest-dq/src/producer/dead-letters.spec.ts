import { describe, expect, it } from '@jest/globals';
import { parseRef } from '../copies/job-ref.js';
import type { JobOptions, JobRef } from '../api/job.js';
import { embedded, failure, scripted } from '../../spec-support/producing.js';
import { orders, Turns } from '../../spec-support/turns.js';
import { defineTube } from '../api/tube.js';

const KEY = { tube: 't', key: 'k' };
const BOOM = { name: 'TypeError', message: 'boom', stack: 'TypeError: boom\n    at x' };

/** Embedded nodes with a job that is dead, and whose copies are buried. */
async function withDead(options: JobOptions = {}, prefix = '') {
  const world = await embedded(3, prefix);
  const tube = `${prefix}t`;
  const receipt = await world.producer.now('t', { a: 1 }, options);
  const [primary] = await world.copies(tube);
  await (await world.run(primary!, 10, tube)).finish('dead', { death: { why: 'attempts', error: BOOM } });
  await world.clock.advance(5_000); // the backups surface
  await world.bury(tube);
  world.ledger.asked.length = 0;
  const states = async () => (await world.copies(tube)).map(({ state }) => state);
  return Object.assign(world, { receipt, states });
}

const BURIED = ['buried', 'buried', 'buried'];

describe('a dead letter', () => {
  it.each<[string, JobOptions]>([
    ['plain', {}],
    ['keyed', { key: 'k' }],
  ])(
    'tells what died, when, and of what; its payload is in the buried copies: %s',
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

  it('has 50 letters unless told otherwise, and at most 1000', async () => {
    const { deadLetters } = await dying(51);
    const { letters, cursor } = await deadLetters.list('t');
    expect([letters.length, typeof cursor]).toEqual([50, 'string']);
    const rest = await deadLetters.list('t', { cursor });
    expect([rest.letters.length, 'cursor' in rest]).toEqual([1, false]);
    expect((await deadLetters.list('t', { limit: 1_000 })).letters).toHaveLength(51);
    expect((await deadLetters.list('t', { limit: 51 })).cursor).toBeUndefined();
    expect(await deadLetters.list('another')).toEqual({ letters: [] });
  });

  it('goes on behind a letter that is gone by now, and shows new ones on its first page only', async () => {
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

describe('revive', () => {
  it.each<[string, JobOptions]>([
    ['plain', {}],
    ['keyed', { key: 'k' }],
  ])('lets a job run again, with attempts that begin anew: %s', async (_kind, options) => {
    const settings = { attempts: 3, headers: { tenant: 'x' }, priority: 'high' } as const;
    const { deadLetters, receipt, copies, run, clock, producer } = await withDead({
      ...options,
      ...settings,
    });
    expect(await deadLetters.revive(receipt)).toBe('revived');
    await clock.advance(0);
    const revived = await copies();
    expect(revived.map(({ state, payload, header }) => [state, payload, header.due])).toEqual([
      ['ready', '{"a":1}', clock.wall()],
      ['delayed', '{"a":1}', clock.wall()],
      ['delayed', '{"a":1}', clock.wall()],
    ]);
    const { key } = options;
    expect(revived[0]!.header).toMatchObject({ attempts: 3, headers: { tenant: 'x' }, priority: 0 });
    expect([revived[0]!.header.id, revived[0]!.header.key]).toEqual([receipt.id, key]);
    expect(await deadLetters.list('t')).toEqual({ letters: [] });
    expect(await producer.find(receipt)).toMatchObject({ state: 'waiting', attempt: 0 });
    const { attempt, finish } = await run(revived[0]!);
    expect([attempt, await finish('done')]).toEqual([1, 'ok']);
  });

  it('works by key, by the ref of the letter, and once', async () => {
    for (const ref of [KEY, 'ref', 'receipt']) {
      const { deadLetters, receipt } = await withDead({ key: 'k' });
      const [letter] = (await deadLetters.list('t')).letters;
      const which = ref === 'ids' ? letter!.ref : ref === 'receipt' ? receipt : KEY;
      expect(await deadLetters.revive(which)).toBe('revived');
      expect(await deadLetters.revive(which)).toBe('waiting');
    }
  });

  it('takes a delay', async () => {
    const { deadLetters, receipt, copies, claim, clock } = await withDead();
    expect(await deadLetters.revive(receipt, { delay: '3s' })).toBe('revived');
    await clock.advance(0);
    const [primary] = await copies();
    expect(await claim(primary!)).toEqual({ kind: 'wait', ms: 3_000 });
  });

  it('lets it die again, and be revived again', async () => {
    const { deadLetters, receipt, copies, run, clock, bury, states } = await withDead();
    for (let time = 0; time < 3; time++) {
      expect(await deadLetters.revive(receipt)).toBe('revived');
      await clock.advance(0);
      const [primary] = await copies();
      await (await run(primary!)).finish('dead');
      await clock.advance(5_000);
      await bury();
      expect(await states()).toEqual(BURIED);
      expect((await deadLetters.list('t')).letters).toHaveLength(1);
    }
  });

  it('under a newer job of its key does nothing, and the letter stays', async () => {
    const { deadLetters, receipt, producer, clock, copies, states } = await withDead({ key: 'k' });
    await clock.advance(1);
    expect((await producer.delay('t', 'new', '1m', { key: 'k' })).status).toBe('added');
    const before = await copies();
    expect(before).toHaveLength(6);
    expect(await deadLetters.get(KEY)).toBeUndefined();
    expect(await deadLetters.revive(receipt)).toBe('replaced');
    expect(await deadLetters.revive(KEY)).toBe('waiting');
    await clock.advance(0);
    expect(await copies()).toEqual(before);
    expect((await states()).toSorted().slice(0, 3)).toEqual(BURIED);
    expect(await deadLetters.get(receipt)).toMatchObject({ payload: { a: 1 } });
  });

  it('fails when no copy is in reach, and it stays dead', async () => {
    const { deadLetters, receipt, cut, restore, after, ledger, states } = await withDead();
    await cut(0, 1, 2);
    const error = await failure(after(2_000, deadLetters.revive(receipt)));
    expect(error).toMatchObject({ code: 'DQ_NO_COPY', indeterminate: false });
    expect(ledger.asked).not.toContain('open');
    await restore();
    expect(await states()).toEqual(BURIED);
    expect(await deadLetters.revive(receipt)).toBe('revived');
  });

  it('on too few nodes fails, and it stays dead', async () => {
    const { deadLetters, receipt, cut, restore, after, states } = await withDead();
    await cut(1, 2);
    const error = await failure(after(2_000, deadLetters.revive(receipt)));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    await restore();
    expect(await states()).toEqual(BURIED);
    expect(await deadLetters.get(receipt)).toMatchObject({ why: 'attempts', payload: { a: 1 } });
  });

  it.each(['lost', 'unanswered'] as const)('takes effect once when its commit is %s first', async (fault) => {
    const { deadLetters, receipt, ledger, after, copies } = await withDead();
    ledger.fail('commit', fault);
    expect(await after(1_000, deadLetters.revive(receipt))).toBe('revived');
    expect(await copies()).toHaveLength(3);
    expect(await deadLetters.list('t')).toEqual({ letters: [] });
  });

  it.each(['lost', 'unanswered'] as const)('changes nothing when its opening is %s', async (fault) => {
    const { deadLetters, receipt, ledger, states } = await withDead();
    ledger.fail('open', fault);
    const error = await failure(deadLetters.revive(receipt));
    expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: false });
    expect(await states()).toEqual(BURIED);
    expect(await deadLetters.revive(receipt)).toBe('revived');
  });

  it('by two at once is done by one of them, in each order of their steps', async () => {
    for (const order of orders(3, 3)) {
      const { process, receipt, clock, copies, run } = await withDead();
      const turns = new Turns();
      const revived = await turns.play(
        order,
        [0, 1].map((actor) => {
          const { deadLetters, ledger } = process();
          ledger.gate = () => turns.gate(actor);
          return () => deadLetters.revive(receipt);
        }),
      );
      await clock.advance(0);
      expect({ order, revived: new Set(revived) }).toEqual({
        order,
        revived: new Set(['revived', 'waiting']),
      });
      const left = await copies();
      expect(left).toHaveLength(3);
      expect((await run(left[0]!)).attempt).toBe(1);
    }
  });

  it('is too late when another has discarded it before a copy was read', async () => {
    const { deadLetters, process, receipt, ledger, copies } = await withDead();
    const other = process().deadLetters;
    ledger.acted = async () => {
      ledger.acted = () => undefined;
      await other.discard(receipt);
    };
    expect(await deadLetters.revive(receipt)).toBe('revoked');
    expect(await copies()).toEqual([]);
  });

  it('revives the letter that there is, when the job was revived and died again meanwhile', async () => {
    const { deadLetters, process, receipt, ledger, copies, run, bury } = await withDead();
    const other = process().deadLetters;
    ledger.gate = async (call) => {
      if (call !== 'open') return;
      ledger.gate = () => undefined;
      await other.revive(receipt);
      const revived = (await copies()).find(({ state }) => state === 'ready');
      await (await run(revived!)).finish('dead');
      await bury();
    };
    expect(await deadLetters.revive(receipt)).toBe('revived');
    expect(await deadLetters.list('t')).toEqual({ letters: [] });
  });

  it('while another discards: it runs, or it is given up, never both', async () => {
    for (const order of orders(3, 1)) {
      const { process, receipt, clock, copies, deadLetters } = await withDead();
      const turns = new Turns();
      const [revives, discards] = [process(), process()];
      revives.ledger.gate = () => turns.gate(0);
      discards.ledger.gate = () => turns.gate(1);
      const [revived, discarded] = await turns.play(order, [
        () => revives.deadLetters.revive(receipt),
        () => discards.deadLetters.discard(receipt),
      ]);
      await clock.advance(0);
      const runs = revived === 'revived';
      expect({ order, revived, discarded }).toEqual(
        runs
          ? { order, revived, discarded: 'waiting' }
          : { order, revived: 'revoked', discarded: 'discarded' },
      );
      expect(await copies()).toHaveLength(runs ? 3 : 0);
      expect(await deadLetters.list('t')).toEqual({ letters: [] });
    }
  });

  it.each<[unknown, string]>([
    [null, 'DQ_BAD_OPTION'],
    [{ after: '5s' }, 'DQ_BAD_OPTION'],
    [{ delay: '5' }, 'DQ_BAD_DURATION'],
  ])('refuses the options %p as %s', async (options, code) => {
    const { deadLetters, ledger } = await scripted();
    expect((await failure(deadLetters.revive(KEY, options as { delay: '5s' }))).code).toBe(code);
    expect(ledger.asked).toEqual([]);
  });
});

describe('discard', () => {
  it.each<[string, JobOptions]>([
    ['plain', {}],
    ['keyed', { key: 'k' }],
  ])('gives a dead job up, and deletes its copies: %s', async (_kind, options) => {
    const { deadLetters, receipt, copies, claim, producer, ledger, clock } = await withDead(options);
    const before = await copies();
    let atDecision = 0;
    ledger.acted = async (call) => void (atDecision = call === 'discard' ? (await copies()).length : 0);
    expect(await deadLetters.discard(receipt)).toBe('discarded');
    expect([atDecision, (await copies()).length]).toEqual([3, 0]);
    ledger.acted = () => undefined;
    expect(await deadLetters.list('t')).toEqual({ letters: [] });
    expect(await deadLetters.discard(receipt)).toBe('revoked');
    expect(await producer.find(receipt)).toMatchObject({ state: 'revoked' });
    for (const copy of before) expect(await claim(copy)).toEqual({ kind: 'gone' });
    const { generation } = before[0]!.header;
    await clock.advance(65_000);
    expect(ledger.settled).toEqual([{ id: receipt.id, generation, mask: 0b111, unknown: false }]);
  });

  it('of a letter whose key has a newer job leaves that alone', async () => {
    const { deadLetters, receipt, producer, memory, clock, payloads } = await withDead({ key: 'k' });
    const schedule = () => memory.tube('t').find([receipt.id]);
    await clock.advance(1);
    await producer.delay('t', 'new', '1m', { key: 'k' });
    const before = await schedule();
    expect(await deadLetters.discard(KEY)).toBe('waiting');
    expect(await deadLetters.discard(receipt)).toBe('discarded');
    expect(await payloads()).toEqual(['new', 'new', 'new']);
    expect(await schedule()).toEqual(before);
    expect(await deadLetters.list('t')).toEqual({ letters: [] });
  });

  it('holds although a node is away: its copy is turned away if it ever surfaces', async () => {
    const { deadLetters, receipt, cut, restore, after, copies, claim } = await withDead();
    await cut(0);
    expect(await after(1_000, deadLetters.discard(receipt))).toBe('discarded');
    await restore();
    const [left, ...others] = await copies();
    expect([left!.node, others]).toEqual([0, []]);
    expect(await claim(left!)).toEqual({ kind: 'gone' });
  });

  it('leaves the key free', async () => {
    const { deadLetters, producer, clock, payloads } = await withDead({ key: 'k' });
    await deadLetters.discard(KEY);
    await clock.advance(1);
    const next = await producer.delay('t', 'new', '1m', { key: 'k', onDuplicate: 'reject' });
    expect(next.status).toBe('added');
    expect(await payloads()).toEqual(['new', 'new', 'new']);
  });
});
