import { describe, expect, it } from '@jest/globals';
import type { DqError } from '../errors.js';
import type { DelayedJob } from '../api/job.js';
import { Again } from '../api/outcome.js';
import { NONE, clock, consumingInEachTest, forEver, world } from '../../spec-support/consuming.js';
import { noting, type Seen } from '../../spec-support/noting.js';

consumingInEachTest();

describe('TubeConsumer, when it is stopped', () => {
  it('lets a handler end, takes its outcome, and is done as soon as that is', async () => {
    const consumer = await world
      .process()
      .consume(() => new Promise<void>((resolve) => void clock.after(300, resolve)));
    await world.add(0);
    expect(await world.stopped(consumer, 10_000)).toBeLessThan(400);
    expect(await world.copies()).toEqual(NONE);
  });

  it('releases at once what it has not begun', async () => {
    const consumer = await world.process().consume(forEver, { concurrency: 1 });
    await world.add(0);
    await world.addMany(5, 900);
    await clock.advance(500);
    expect((await world.copies()).reserved).toBe(6);
    const stopping = consumer.stop(60_000);
    await world.settle();
    expect(await world.copies()).toMatchObject({ reserved: 1, ready: 5 });
    await clock.advance(61_000);
    await stopping;
  });

  it('reserves nothing more where the ledger comes back meanwhile', async () => {
    const process = world.process();
    const consumer = await process.consume(forEver);
    await world.add(0);
    const stopping = consumer.stop(60_000);
    process.ledger.cut();
    await clock.advance(2_000);
    process.ledger.restore();
    await clock.advance(6_000);
    expect(await world.waits()).toBe(0);
    await clock.advance(61_000);
    await stopping;
  });

  it('aborts at the limit what still runs, and hands the attempt back', async () => {
    const jobs: DelayedJob[] = [];
    const one = await world.process().consume(
      (_payload, job) => {
        jobs.push(job);
        return forEver();
      },
      { attempts: 1 },
    );
    const { id } = await world.add(0);
    await world.process().consume((_payload, job) => void jobs.push(job), { attempts: 1 });
    void one.stop(1_000);
    await clock.advance(999);
    expect(jobs[0]!.signal.aborted).toBe(false);
    await clock.advance(1);
    expect((jobs[0]!.signal.reason as DqError).code).toBe('DQ_SHUTDOWN');
    await clock.advance(3_000);
    expect(jobs).toHaveLength(2);
    expect(jobs[1]).toMatchObject({ id, attempt: 1 });
    expect(jobs[1]!.fence).toBeGreaterThan(jobs[0]!.fence);
  });

  it('does not count as a failure what its own signal ended', async () => {
    const worker = world.process();
    const consumer = await worker.consume(
      (_payload, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        ),
      { attempts: 1 },
    );
    const { id } = await world.add(0);
    await world.stopped(consumer, 500);
    expect(worker.ledger.asked.at(-1)).toBe(`complete ${id} back`);
    expect(worker.reports).toEqual(['cut off 1']);
    expect((await world.copies()).buried).toBe(0);
  });

  it('reports nothing about a handler that has outlived its timeout: its run is not handed back', async () => {
    const worker = world.process();
    const consumer = await worker.consume(forEver, { timeout: 100, attempts: 1 });
    await world.add(0);
    await clock.advance(200);
    await world.stopped(consumer, 500);
    expect(worker.reports).toEqual([expect.stringMatching(/^failed 1/), 'dead attempts']);
  });

  it('hands back later results of a claim, without running them', async () => {
    const worker = world.process();
    let starts = 0;
    const consumer = await worker.consume(() => void starts++);
    await world.add(0);
    starts = 0;
    const tube = worker.ledger.tube('tube');
    const claim = tube.claim.bind(tube);
    let answer: (() => void) | undefined;
    tube.claim = async (...request) => {
      const answers = await claim(...request);
      await new Promise<void>((resolve) => (answer = resolve));
      return answers;
    };
    const { id } = await world.add(0);
    const stopping = world.stopped(consumer, 5_000);
    await world.settle();
    answer!();
    await stopping;
    expect(starts).toBe(0);
    expect(worker.ledger.asked.at(-1)).toBe(`complete ${id} back`);
  });

  it('releases at once what was claimed without an answer', async () => {
    const worker = world.process();
    await worker.consume(forEver);
    const tube = worker.ledger.tube('tube');
    let fail: (() => void) | undefined;
    tube.claim = () => new Promise((_resolve, reject) => (fail = () => reject(new Error('no answer'))));
    await world.add(0);
    worker.ledger.cut();
    await clock.advance(1_000);
    expect((await world.copies()).reserved).toBe(1);
    fail!();
    await world.settle();
    expect((await world.copies()).reserved).toBe(0);
  });

  it('before it was started, does nothing, and cannot be started any more', async () => {
    const worker = world.process();
    let starts = 0;
    const consumer = worker.prepare(() => void starts++);
    expect(await world.stopped(consumer, 1_000)).toBe(0);
    consumer.start();
    await world.add(0);
    await clock.advance(10_000);
    expect(starts).toBe(0);
    expect(await world.copies()).toEqual({ ...NONE, ready: 3 });
  });

  it('abandons what it could not report to the ledger, so that nobody here keeps it', async () => {
    const worker = world.process();
    const consumer = await worker.consume(forEver);
    await world.add(0);
    worker.ledger.cut();
    expect(worker.ledger.abandoned).toBe(0);
    await world.stopped(consumer, 100);
    expect(worker.ledger.abandoned).toBe(1);
  });

  it.each([
    ['a run that ended', undefined],
    ['an Again', Again.after('1m')],
  ])('reports nothing more of %s to a ledger that was away', async (_what, outcome) => {
    const worker = world.process();
    let end: (outcome: unknown) => void = () => undefined;
    const consumer = await worker.consume(() => new Promise((resolve) => (end = resolve)));
    await world.add(0);
    worker.ledger.cut();
    end(outcome);
    await world.stopped(consumer, 100);
    worker.ledger.restore();
    worker.ledger.asked.length = 0;
    await clock.advance(60_000);
    expect(worker.ledger.asked).toEqual([]);
  });

  it('a second time, is the same stop', async () => {
    const consumer = await world.process().consume(forEver);
    await world.add(0);
    const first = consumer.stop(500);
    expect(consumer.stop(60_000)).toBe(first);
    await clock.advance(1_000);
    await first;
  });
});

describe('ten deploys', () => {
  it.each([1, 2])(
    'do not use up the attempts of a job that takes longer, of which there are %i',
    async (attempts) => {
      const runs: Seen[] = [];
      for (let i = 0; i < 10; i++) {
        const worker = world.process();
        const consumer = await worker.consume(noting(clock, runs, forEver), { attempts });
        if (i === 0) await world.add(0);
        await clock.advance(1_000);
        expect(runs).toHaveLength(i + 1);
        await world.stopped(consumer, 100);
        expect(worker.reports).toEqual(['cut off 1']);
        worker.close();
      }
      const last = world.process();
      await last.consume(
        noting(clock, runs, () => new Promise<void>((resolve) => void clock.after(20_000, resolve))),
        { attempts },
      );
      await clock.advance(40_000);
      expect(runs).toHaveLength(11);
      expect(runs.every(({ attempt }) => attempt === 1)).toBe(true);
      const fences = runs.map(({ fence }) => fence);
      expect(fences).toEqual([...new Set(fences)].toSorted((a, b) => a - b));
      expect(last.reports).toEqual([]);
      expect(await world.copies()).toEqual(NONE);
    },
  );
});
