import { describe, expect, it } from '@jest/globals';
import { InProcessNode } from '../embedded/in-process-node.js';
import { parseRef } from '../copies/job-ref.js';
import { embedded, failure, scripted } from '../../spec-support/producing.js';

const KEY = { tube: 't', key: 'k' };

describe('find', () => {
  it('of a plain job that waits asks the nodes, and writes nothing', async () => {
    const { producer, ledger } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    const { id, ref, dueAt } = receipt;
    const view = { state: 'waiting', id, ref, tube: 't', dueAt, attempt: 0 };
    expect(await producer.find(receipt)).toEqual(view);
    expect(await producer.find(ref)).toEqual(view);
    expect(ledger.asked).toEqual(['find', 'find']);
  });

  it('asks the ledger once for all that are looked up in a tick', async () => {
    const { producer, ledger } = await embedded();
    const receipts = await Promise.all(['a', 'b'].map((key) => producer.delay('t', 1, '1m', { key })));
    ledger.asked.length = 0;
    const views = await Promise.all(receipts.map((receipt) => producer.find(receipt)));
    expect(views.map((view) => view?.key)).toEqual(['a', 'b']);
    expect(ledger.asked).toEqual(['find']);
  });

  it('finds a plain job as long as one node of it is in reach', async () => {
    const { producer, cut, after } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    await cut(0, 1);
    expect(await after(1_000, producer.find(receipt))).toMatchObject({ state: 'waiting' });
    await cut(2);
    expect(await after(1_000, producer.find(receipt))).toBeUndefined();
  });

  it.each<[string, { key?: string }]>([
    ['plain', {}],
    ['keyed', { key: 'k' }],
  ])('returns each state of a %s job', async (_kind, options) => {
    const { producer, copies, run, clock } = await embedded();
    const receipt = await producer.now('t', 1, options);
    const find = async () => {
      const view = await producer.find(receipt);
      return view && [view.state, view.attempt, view.dueAt.getTime() - receipt.dueAt.getTime()];
    };
    expect(await find()).toEqual(['waiting', 0, 0]);
    const [primary] = await copies();
    const first = await run(primary!);
    expect(await find()).toEqual(['running', 1, 0]);
    await first.finish('retry', { due: clock.wall() + 5_000 });
    expect(await find()).toEqual(['retrying', 1, 5_000]);
    await clock.advance(5_000);
    await run(primary!);
    expect(await find()).toEqual(['running', 2, 5_000]);
    await clock.advance(15_000); // its lease
    expect(await find()).toEqual(['retrying', 2, 5_000]);
    const third = await run(primary!);
    await third.finish('done');
    expect(await find()).toEqual(['done', 3, 5_000]);
  });

  it('finds revoked and dead jobs', async () => {
    const { producer, copies, run } = await embedded();
    const revoked = await producer.now('t', 1);
    await producer.revoke(revoked);
    expect(await producer.find(revoked)).toMatchObject({ state: 'revoked' });
    const dead = await producer.now('t', 1, { key: 'k' });
    await (await run((await copies())[0]!)).finish('dead');
    expect(await producer.find(dead)).toMatchObject({ state: 'dead', attempt: 1, key: 'k' });
  });

  it('by key means the job that is scheduled now; an older receipt finds nothing', async () => {
    const { producer, clock } = await embedded();
    expect(await producer.find(KEY)).toBeUndefined();
    const old = await producer.delay('t', 1, '1m', { key: 'k' });
    expect(await producer.find(KEY)).toEqual(await producer.find(old));
    await clock.advance(1);
    const { id, ref, dueAt } = await producer.delay('t', 2, '2m', { key: 'k' });
    const view = { state: 'waiting', id, ref, tube: 't', key: 'k', dueAt, attempt: 0 };
    expect(await producer.find(KEY)).toEqual(view);
    expect(await producer.find(old)).toBeUndefined();
  });

  it('by a receipt from before a move returns the job as it is now', async () => {
    const { producer, clock } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    await clock.advance(1);
    await producer.reschedule(receipt, { delay: '5m' });
    await clock.advance(0);
    const view = await producer.find(receipt);
    expect(view).toMatchObject({ state: 'waiting', id: receipt.id, dueAt: new Date(clock.wall() + 300_000) });
    expect(parseRef(view!.ref, '')).toMatchObject({ born: 0, copies: 3 });
    expect(parseRef(view!.ref, '').places).not.toEqual(parseRef(receipt, '').places);
  });

  it.each<[string, { key?: string }]>([
    ['plain', {}],
    ['keyed', { key: 'k' }],
  ])('finds a %s job that moves after its record was read, and before a copy is', async (_kind, options) => {
    const { producer, clock, ledger, copies } = await embedded();
    const receipt = await producer.delay('t', 1, '1m', options);
    await clock.advance(1);
    const dueAt = new Date(clock.wall() + 300_000);
    let reads = options.key ? 2 : 1; // the first one of a job given by its id finds out where it is
    ledger.acted = async (call) => {
      if (call !== 'find' || --reads > 0) return;
      ledger.acted = () => undefined;
      await producer.reschedule(receipt, dueAt);
      await clock.advance(0); // until the old copies are deleted
      expect(await copies()).toHaveLength(3);
    };
    expect(await producer.find(options.key ? { tube: 't', id: receipt.id } : receipt)).toMatchObject({
      dueAt,
      ...options,
    });
  });

  it.each<[string, { key?: string }]>([
    ['a plain', {}],
    ['a keyed', { key: 'k' }],
    ['a moved', { key: 'k' }],
  ])('gives a ref that revokes %s job, and deletes its copies', async (kind, options) => {
    const { producer, clock, copies } = await embedded();
    const receipt = await producer.delay('t', 1, '1m', options);
    await clock.advance(1);
    if (kind === 'a moved') await producer.reschedule(receipt, { delay: '5m' });
    await clock.advance(0);
    const view = await producer.find(options.key ? KEY : receipt);
    expect(await copies()).toHaveLength(3);
    expect(await producer.revoke(view!.ref)).toBe('revoked');
    expect(await copies()).toEqual([]);
  });

  it('does not take an innocent job for one that was lost', async () => {
    const { producer, servers, clock } = await embedded();
    const lost = await producer.delay('t', 'lost', '1h');
    for (const [i, server] of servers.entries()) {
      server.close();
      servers[i] = new InProcessNode(clock);
    }
    await clock.advance(3_000);
    await producer.delay('t', 'innocent', '1h');
    expect(await producer.find(lost)).toBeUndefined();
  });

  it('names the tube without the prefix', async () => {
    const { producer } = await embedded(3, 'app.');
    const receipt = await producer.delay('t', 1, '1m');
    expect(await producer.find(receipt)).toMatchObject({ tube: 't', ref: receipt.ref });
  });

  it('fails when the ledger does not answer', async () => {
    const { producer, ledger } = await scripted();
    ledger.fail('find', 'lost');
    expect((await failure(producer.find(KEY))).code).toBe('DQ_LEDGER_DOWN');
  });
});
