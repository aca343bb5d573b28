import { describe, expect, it } from '@jest/globals';
import type { HandlerMethod } from '../api/job.js';
import { NONE, clock, consumingInEachTest, world } from '../../spec-support/consuming.js';

consumingInEachTest();

const SECOND = 1_000;
const claimsOf = (asked: readonly string[]) => asked.filter((text) => text.startsWith('claim')).length;

/** A handler that takes `ms`, and its counts: concurrent runs, those of each group, and when each run began. */
function slow(ms: number) {
  const counts = {
    now: 0,
    most: 0,
    byGroup: new Map<string, number>(),
    mostOfGroup: 0,
    begun: [] as number[],
  };
  const began = clock.now();
  const handler: HandlerMethod = async (payload) => {
    const { group = '' } = payload as { group?: string };
    const ofGroup = (counts.byGroup.get(group) ?? 0) + 1;
    counts.byGroup.set(group, ofGroup);
    counts.now++;
    counts.most = Math.max(counts.most, counts.now);
    counts.mostOfGroup = Math.max(counts.mostOfGroup, group === '' ? 0 : ofGroup);
    counts.begun.push(clock.now() - began);
    await new Promise<void>((done) => clock.after(ms, done));
    counts.now--;
    counts.byGroup.set(group, ofGroup - 1);
  };
  return { counts, handler };
}

describe('a limit of the rate', () => {
  it('spaces the runs evenly, and reserves at most what may run within a second', async () => {
    const worker = world.process();
    const { counts, handler } = slow(1);
    await worker.consume(handler, { concurrency: 50, limit: { rate: 10 } });
    await world.addMany(40, 0);
    await clock.advance(50);
    expect((await world.copies()).reserved).toBeLessThanOrEqual(10);
    await clock.advance(5 * SECOND);
    expect(counts.begun).toHaveLength(40);
    counts.begun.forEach((at, i) => {
      if (i > 0) expect(at - counts.begun[i - 1]!).toBeGreaterThanOrEqual(100);
    });
    expect(counts.begun.at(-1)).toBeLessThan(4_200);
    await clock.advance(30 * SECOND);
    expect(await world.copies()).toEqual(NONE);
  });

  it.each([0, 450, 900])(
    'starts urgent jobs before earlier ones, except the few already held (added %i ms into a second)',
    async (phase) => {
      const begun: string[] = [];
      const handler: HandlerMethod = (_, { headers }) => void begun.push(headers['kind']!);
      for (let i = 0; i < 3; i++)
        await world.process().consume(handler, { concurrency: 50, limit: { rate: 25 } });
      const addAll = async (count: number, kind: 'low' | 'high') => {
        const options = { priority: kind, headers: { kind } };
        const added = Array.from({ length: count }, () => world.producer.delay('tube', {}, 0, options));
        await world.settle();
        await Promise.all(added);
      };
      await addAll(300, 'low');
      await clock.advance(2 * SECOND + phase);
      const before = begun.length;
      await addAll(30, 'high');
      await clock.advance(20 * SECOND);
      const passed = begun.slice(before, begun.lastIndexOf('high')).filter((kind) => kind === 'low');
      expect(passed.length).toBeLessThanOrEqual(3 * 6); // 200 ms of the rate in each process, and one more asked for
      expect(begun).toHaveLength(330);
    },
  );

  it('asks a few times a second, however many processes wait for the same turns', async () => {
    const { counts, handler } = slow(1);
    const workers = [world.process(), world.process(), world.process()];
    for (const worker of workers) await worker.consume(handler, { concurrency: 50, limit: { rate: 10 } });
    await world.addMany(60, 0);
    await clock.advance(SECOND);
    const asked = () => workers.map(({ ledger }) => claimsOf(ledger.asked)).reduce((a, b) => a + b);
    const before = asked();
    await clock.advance(4 * SECOND);
    expect(asked() - before).toBeLessThan(4 * 3 * 60);
    expect(counts.begun.length).toBeGreaterThanOrEqual(49);
  });

  it('keeps no waiting jobs when it stops', async () => {
    const worker = world.process();
    const { counts, handler } = slow(1);
    const consumer = await worker.consume(handler, { limit: { rate: 10 } });
    await world.addMany(5, 0);
    await clock.advance(10);
    expect((await world.copies()).reserved).toBeGreaterThan(0);
    const claimed = claimsOf(worker.ledger.asked);
    expect(await world.stopped(consumer, SECOND)).toBeLessThan(100);
    expect(await world.copies()).toMatchObject({ reserved: 0, ready: 4 });
    expect(claimsOf(worker.ledger.asked)).toBe(claimed);
    expect(counts.begun).toHaveLength(1);
  });

  it('asks once a second at most while the next run is far away, and holds nothing', async () => {
    const worker = world.process();
    const { counts, handler } = slow(1);
    await worker.consume(handler, { limit: { rate: 1, per: '1m' } });
    await world.addMany(5, 0);
    await clock.advance(SECOND);
    expect(counts.begun).toHaveLength(1);
    const before = claimsOf(worker.ledger.asked);
    await clock.advance(50 * SECOND);
    expect(claimsOf(worker.ledger.asked) - before).toBeLessThan(50 * 15);
    expect((await world.copies()).reserved).toBe(0);
    await clock.advance(10 * SECOND);
    expect(counts.begun).toHaveLength(2);
    expect(counts.begun[1]! - counts.begun[0]!).toBeGreaterThanOrEqual(60 * SECOND);
    expect(counts.begun[1]! - counts.begun[0]!).toBeLessThan(61 * SECOND);
  });
});

describe('a limit of concurrency', () => {
  it('holds in all processes together, and wastes no time', async () => {
    const { counts, handler } = slow(100);
    for (let i = 0; i < 3; i++) await world.process().consume(handler, { limit: { concurrency: 4 } });
    await world.addMany(80, 0);
    await clock.advance(2_500);
    expect(counts.most).toBe(4);
    expect(counts.begun).toHaveLength(80);
    await clock.advance(30 * SECOND);
    expect(await world.copies()).toEqual(NONE);
  });

  it('lets another process continue within a second when one dies silently', async () => {
    const stuck = world.process();
    await stuck.consume(() => new Promise(() => undefined), { limit: { concurrency: 1 } });
    await world.add(0);
    await clock.advance(50);
    const { counts, handler } = slow(10);
    await world.process().consume(handler, { limit: { concurrency: 1 } });
    await world.add(0);
    await clock.advance(10 * SECOND);
    expect(counts.begun).toEqual([]);
    stuck.cluster.close();
    stuck.ledger.cut();
    await clock.advance(world.lease + SECOND);
    expect(counts.begun).toHaveLength(2); // its own job, and that of the other process
    expect(counts.most).toBe(1);
  });
});

describe('a limit of groups', () => {
  it('runs one job of a group at a time, and starves no other', async () => {
    const { counts, handler } = slow(20);
    for (let i = 0; i < 2; i++)
      await world.process().consume(handler, { concurrency: 5, limit: { perGroup: 1 } });
    for (let i = 0; i < 60; i++) {
      void world.producer.delay('tube', { group: 'hot' }, 0, { group: 'hot' });
    }
    await world.settle();
    await clock.advance(100);
    expect((await world.copies()).reserved).toBeLessThanOrEqual(2 * (2 * 5 + 5));
    const others = Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        world.producer.delay('tube', { group: `g${i}` }, 0, { group: `g${i}` }),
      ),
    );
    await world.settle();
    await others;
    await clock.advance(2 * SECOND);
    expect(counts.mostOfGroup).toBe(1);
    expect([...counts.byGroup.keys()]).toHaveLength(21);
    await clock.advance(60 * SECOND);
    expect(counts.begun).toHaveLength(80);
    expect(counts.mostOfGroup).toBe(1);
    await clock.advance(30 * SECOND);
    expect(await world.copies()).toEqual(NONE);
  });
});
