import { describe, expect, it } from '@jest/globals';
import type { JobOptions } from '../api/job.js';
import { failure, scripted } from '../../spec-support/producing.js';
import { orders, Turns } from '../../spec-support/turns.js';
import { KEY, withDead, BURIED } from '../../spec-support/dead-job.js';

describe('revive', () => {
  it.each<[string, JobOptions]>([
    ['plain', {}],
    ['keyed', { key: 'k' }],
  ])('lets a job run again, with fresh attempts: %s', async (_kind, options) => {
    const same = { attempts: 3, headers: { tenant: 'x' }, group: 'user-17' };
    const settings = { ...same, priority: 'high' } as const;
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
    expect(revived[0]!.header).toMatchObject({ ...same, priority: 0 });
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

  it('takes another payload, and keeps everything else', async () => {
    const { deadLetters, receipt, copies, clock } = await withDead({ key: 'k', headers: { tenant: 'x' } });
    await expect(deadLetters.revive(receipt, { payload: 1n as never })).rejects.toMatchObject({
      code: 'DQ_BAD_PAYLOAD',
    });
    expect(await deadLetters.revive(receipt, { payload: { a: 2 } })).toBe('revived');
    await clock.advance(0);
    const revived = await copies();
    expect(revived.map(({ payload }) => payload)).toEqual(Array(3).fill('{"a":2}'));
    expect(revived[0]!.header).toMatchObject({ key: 'k', headers: { tenant: 'x' } });
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

it.each(['revive', 'discard'] as const)(
  'deletes the copies that others have found since the letter was read: %s',
  async (act) => {
    const { deadLetters, receipt, ledger, memory, clock, states } = await withDead();
    const { records } = memory.tube('t');
    const [letter] = records.letters.values();
    records.keepLetter({ ...letter!, places: letter!.places.slice(0, 1) });
    ledger.acted = () => {
      ledger.acted = () => undefined;
      records.keepLetter(letter!);
    };
    await deadLetters[act](receipt);
    await clock.advance(0);
    expect(await states()).not.toContain('buried');
  },
);
