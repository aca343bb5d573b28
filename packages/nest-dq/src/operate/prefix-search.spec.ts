import { describe, expect, it } from '@jest/globals';
import { embedded, failure } from '../../spec-support/producing.js';

/** A process that lists all jobs. */
async function listing() {
  const world = await embedded();
  const { producer, inspector } = world.process({ mostIndexed: 2_000 });
  return { producer, inspector, areListed: () => world.clock.advance(1_000) };
}

describe('a search by prefix', () => {
  it('finds waiting jobs by the beginning of their key, the next due first', async () => {
    const { producer, inspector, areListed } = await listing();
    await producer.delay('orders', {}, '3h', { key: 'order-42' });
    await producer.delay('orders', {}, '1h', { key: 'order-41' });
    await producer.delay('orders', {}, '2h', { key: 'invoice-7' });
    await producer.delay('orders', {}, '2h');
    await areListed();
    const found = await inspector.searchPrefix('order-', ['orders']);
    expect(found.jobs.map(({ key, state }) => [key, state])).toEqual([
      ['order-41', 'waiting'],
      ['order-42', 'waiting'],
    ]);
    expect(found).toMatchObject({ more: false, waiting: 4, listed: 4, dead: 0, running: 0 });
  });

  it('finds a job without a key by the beginning of its id', async () => {
    const { producer, inspector, areListed } = await listing();
    const { id, dueAt } = await producer.delay('orders', {}, '1h');
    await areListed();
    expect((await inspector.searchPrefix(id.slice(0, 12), ['orders'])).jobs).toEqual([
      { tube: 'orders', id, state: 'waiting', at: dueAt },
    ]);
  });

  it('looks at the next jobs of each tube, divided among them, and says how many', async () => {
    const { producer, inspector, areListed } = await listing();
    const jobs = Array.from({ length: 600 }, (_, n) => ({ payload: n, delay: `${n + 1}m` as const }));
    await producer.addMany('many', jobs);
    await producer.delay('few', {}, '1h', { key: 'order-42' });
    await areListed();
    const found = await inspector.searchPrefix('order-', ['many', 'few']);
    expect(found).toMatchObject({ jobs: [{ tube: 'few', key: 'order-42' }], waiting: 501, listed: 601 });
    expect(await inspector.searchPrefix('order-', ['many'])).toMatchObject({ jobs: [], waiting: 600 });
  });

  it('ends with 20 jobs', async () => {
    const { producer, inspector } = await embedded();
    for (let n = 0; n < 40; n++) await producer.delay('orders', {}, `${n + 1}m`, { key: `order-${n}` });
    const { jobs, more } = await inspector.searchPrefix('order-', ['orders']);
    expect(jobs.map(({ key }) => key)).toEqual(Array.from({ length: 20 }, (_, n) => `order-${n}`));
    expect(more).toBe(true);
  });

  it('finds dead letters', async () => {
    const world = await embedded();
    const { producer, inspector } = world;
    await producer.now('t', {}, { key: 'order-42' });
    await world.clock.advance(0);
    const primary = (await world.copies()).find(({ header }) => header.index === 0)!;
    await (await world.run(primary)).finish('dead');
    await world.clock.advance(10_000);
    await world.bury();
    const { jobs, dead } = await inspector.searchPrefix('order', ['t']);
    expect(jobs).toMatchObject([{ key: 'order-42', state: 'dead', at: expect.any(Date) }]);
    expect(dead).toBe(1);
  });

  it('rejects too many tubes, none, and an empty prefix', async () => {
    const { inspector } = await embedded();
    const tubes = Array.from({ length: 21 }, (_, i) => `t${i}`);
    for (const [prefix, names] of [
      ['a', tubes],
      ['a', []],
      ['', ['t']],
    ] as const)
      expect(await failure(inspector.searchPrefix(prefix, names))).toMatchObject({ code: 'DQ_BAD_OPTION' });
  });
});
