import { describe, expect, it } from '@jest/globals';
import type { LimitChange } from '../fleet/limit-changes.js';
import { NONE, clock, consumingInEachTest, world } from '../../spec-support/consuming.js';

consumingInEachTest();

const SECOND = 1_000;

/** A handler that takes `ms`, and its counts. */
function slow(ms: number) {
  const runs = { now: 0, most: 0, begun: 0 };
  const handler = async () => {
    runs.begun++;
    runs.most = Math.max(runs.most, ++runs.now);
    await new Promise<void>((done) => clock.after(ms, done));
    runs.now--;
  };
  return { runs, handler };
}

describe('changed limits', () => {
  it('lower and raise how many runs a process has at once; runs under way continue', async () => {
    const worker = world.process();
    const { runs, handler } = slow(100);
    await worker.consume(handler, { concurrency: 10 });
    await world.addMany(600, 0);
    await clock.advance(SECOND);
    expect(runs.now).toBe(10);
    worker.consumer!.relimit({ concurrency: 2 });
    expect(runs.now).toBe(10);
    await clock.advance(200);
    runs.most = 0;
    await clock.advance(SECOND);
    expect(runs.most).toBe(2);
    worker.consumer!.relimit({ concurrency: 30 });
    await clock.advance(SECOND);
    expect(runs.most).toBe(30);
    worker.consumer!.relimit(undefined);
    await clock.advance(200);
    runs.most = 0;
    await clock.advance(SECOND);
    expect(runs.most).toBe(10);
    await clock.advance(30 * SECOND);
    expect(runs.begun).toBe(600);
    expect(await world.copies()).toEqual(NONE);
  });

  it('give a tube without limits a rate, and take it away', async () => {
    const worker = world.process();
    const { runs, handler } = slow(1);
    await worker.consume(handler, { concurrency: 50 });
    worker.consumer!.relimit({ limit: { rate: 10, per: SECOND, burst: 1 } });
    await world.addMany(200, 0);
    await clock.advance(5 * SECOND);
    expect(runs.begun).toBeGreaterThan(45);
    expect(runs.begun).toBeLessThan(55);
    worker.consumer!.relimit(undefined);
    await clock.advance(3 * SECOND);
    expect(runs.begun).toBe(200);
  });

  it('count runs that were granted under them, whatever changes meanwhile', async () => {
    const workers = [world.process(), world.process()];
    const { runs, handler } = slow(3 * SECOND);
    for (const worker of workers) await worker.consume(handler, { concurrency: 10 });
    const all = (change: LimitChange | undefined) => {
      for (const { consumer } of workers) consumer!.relimit(change);
    };
    all({ limit: { concurrency: 3 } });
    await world.addMany(90, 0);
    await clock.advance(10 * SECOND);
    expect(runs.most).toBe(3);
    // Their permits are returned, although nobody is limited when they end.
    all(undefined);
    await clock.advance(4 * SECOND);
    all({ limit: { concurrency: 4 } });
    await clock.advance(4 * SECOND); // those that aren't counted end
    runs.most = 0;
    await clock.advance(10 * SECOND);
    expect(runs.most).toBe(4);
    await clock.advance(200 * SECOND);
    expect(runs.begun).toBe(90);
    expect(await world.copies()).toEqual(NONE);
  });

  it('raise a limit of the handler above its own', async () => {
    const worker = world.process();
    const { runs, handler } = slow(100);
    await worker.consume(handler, { concurrency: 20, limit: { concurrency: 2 } });
    await world.addMany(300, 0);
    await clock.advance(2 * SECOND);
    expect(runs.most).toBe(2);
    worker.consumer!.relimit({ limit: { concurrency: 15 } });
    await clock.advance(2 * SECOND);
    expect(runs.most).toBe(15);
  });
});
