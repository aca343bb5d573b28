import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { KEY, withDead } from '../../spec-support/dead-job.js';
import { embedded, failure } from '../../spec-support/producing.js';

describe('runNow', () => {
  it.each([
    ['a receipt', {}],
    ['a key', { key: 'k' }],
  ])('moves a job that waits to now, by %s', async (by, options) => {
    const { control, producer, clock, copies, events, run } = await embedded();
    const told = events.collect('operated');
    const receipt = await producer.delay('t', { a: 1 }, '1h', options);
    expect(await control.runNow(by === 'a key' ? KEY : receipt, { by: 'ann' })).toBe('rescheduled');
    await clock.advance(0);
    expect((await copies()).map(({ state, header }) => [state, header.due])).toEqual([
      ['ready', clock.wall()],
      ['delayed', clock.wall()],
      ['delayed', clock.wall()],
    ]);
    expect(await (await run((await copies())[0]!)).finish('done')).toBe('ok');
    const on = { tube: 't', id: receipt.id, ...(by === 'a key' && { key: 'k' }) };
    expect(told).toEqual([{ by: 'ann', act: 'runNow', on, count: 1 }]);
  });

  it('moves a job that waits for a retry, and resets its attempts', async () => {
    const { control, producer, clock, copies, run } = await embedded();
    const receipt = await producer.now('t', 1);
    await (await run((await copies())[0]!)).finish('retry', { due: clock.wall() + 60_000 });
    expect(await control.runNow(receipt)).toBe('rescheduled');
    await clock.advance(0);
    expect((await run((await copies())[0]!)).attempt).toBe(1);
  });

  it('leaves a job that runs, that is over or that is dead as it is, and says what it is', async () => {
    const { control, producer, copies, run, events } = await embedded();
    const told = events.collect('operated');
    const receipt = await producer.now('t', 1);
    const { finish } = await run((await copies())[0]!);
    expect(await control.runNow(receipt)).toBe('running');
    await finish('done');
    expect(await control.runNow(receipt)).toBe('done');
    const revoked = await producer.delay('t', 1, '1h');
    await producer.revoke(revoked);
    expect(await control.runNow(revoked)).toBe('revoked');
    expect(await control.runNow(KEY)).toBe('unknown');
    expect(told.map(({ count }) => count)).toEqual([0, 0, 0, 0]);
    const dead = await withDead();
    expect(await dead.control.runNow(dead.receipt)).toBe('dead');
    expect(await dead.states()).toEqual(['buried', 'buried', 'buried']);
  });

  it('names host and process by default as the caller, and the tube without its prefix', async () => {
    const { control, producer, events } = await embedded(3, 'app.');
    const told = events.collect('operated');
    await control.runNow(await producer.delay('t', 1, '1h'));
    expect(told).toMatchObject([{ by: `${hostname()}:${process.pid}`, on: { tube: 't' } }]);
  });

  it.each([42, '', '  ', 'x'.repeat(201)])('refuses %j for who does it, and changes nothing', async (by) => {
    const { control, producer, events } = await embedded();
    const told = events.collect('operated');
    const receipt = await producer.delay('t', 1, '1h');
    const error = await failure(control.runNow(receipt, { by: by as string }));
    expect(error.message).toMatch(/^DQ_BAD_OPTION: `by` is .+: expected a string of 1 to 200 characters$/);
    expect((await producer.find(receipt))?.dueAt).toEqual(receipt.dueAt);
    expect(told).toEqual([]);
  });
});

describe('drainNode and undrainNode', () => {
  it('mark a node, return whether that changed something, and report it', async () => {
    const { control, events } = await embedded();
    const told = events.collect('operated');
    expect(await control.drainNode('n1:1', { by: 'ann' })).toBe(true);
    expect(await control.drainNode('n1:1')).toBe(false);
    expect(await control.undrainNode('n1:1')).toBe(true);
    expect(told).toMatchObject([
      { by: 'ann', act: 'drainNode', on: { node: 'n1:1' }, count: 1 },
      { act: 'drainNode', count: 0 },
      { act: 'undrainNode', on: { node: 'n1:1' }, count: 1 },
    ]);
  });

  it('refuse a node that the cluster does not have', async () => {
    const { control, events } = await embedded();
    const told = events.collect('operated');
    const { message } = await failure(control.drainNode('n9:1'));
    expect(message).toBe('DQ_BAD_OPTION: unknown node "n9:1": expected one of n0:1, n1:1, n2:1');
    expect(told).toEqual([]);
  });
});
