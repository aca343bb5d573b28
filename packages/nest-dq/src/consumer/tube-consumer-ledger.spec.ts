import { describe, expect, it } from '@jest/globals';
import type { DqError } from '../errors.js';
import type { DelayedJob } from '../api/job.js';
import { Discard } from '../api/outcome.js';
import { NONE, clock, consumingInEachTest, forEver, world } from '../../spec-support/consuming.js';

const LEASE = 15_000;

consumingInEachTest();

const count = (texts: readonly string[], text: string) => texts.filter((each) => each === text).length;

describe('while the ledger is away', () => {
  it('runs nothing, and releases everything to others at once after a second', async () => {
    const [cut, healthy] = [world.process(), world.process()];
    const starts: string[] = [];
    await cut.consume((_payload, { id }) => void starts.push(`cut ${id}`), { concurrency: 50 });
    const receipts = await world.addMany(20, 3_000);
    await clock.advance(2_500);
    expect((await world.copies()).reserved).toBeGreaterThan(0);
    cut.ledger.cut();
    await healthy.consume((_payload, { id, lateness }) => void starts.push(`healthy ${id} ${lateness}`));
    await clock.advance(999);
    expect(starts).toEqual([]);
    await clock.advance(300);
    expect(starts.map((start) => start.split(' ').slice(0, 2).join(' ')).toSorted()).toEqual(
      receipts.map(({ id }) => `healthy ${id}`).toSorted(),
    );
    expect(cut.ledger.asked.filter((text) => text.startsWith('claim'))).toEqual([]);
    await clock.advance(10_000);
    expect(await world.copies()).toEqual(NONE);
  });

  it('reserves no more, and releases at once what an open wait still brings', async () => {
    const worker = world.process();
    await worker.consume(forEver);
    worker.ledger.cut();
    await clock.advance(1_000);
    await world.addMany(9, 0);
    await clock.advance(30_000);
    expect(await world.copies()).toEqual({ ...NONE, ready: 27 });
  });

  it('reports its runs first when it is back, claims nothing for two seconds, then resumes', async () => {
    const worker = world.process();
    const starts: string[] = [];
    let end: (() => void) | undefined;
    await worker.consume((_payload, { id }) => {
      starts.push(id);
      if (starts.length === 1) return new Promise<void>((resolve) => (end = resolve));
      return starts.length === 2 ? forEver() : undefined;
    });
    const ended = await world.add(0);
    const running = await world.add(0);
    worker.ledger.cut();
    end!();
    await clock.advance(4_000);
    const late = await world.add(0);
    worker.ledger.asked.length = 0;
    worker.ledger.restore(false);
    await world.settle();
    expect(worker.ledger.asked).toContain(`complete ${ended.id} done`);
    expect(worker.ledger.asked).toContain(`extend ${running.id}`);
    await clock.advance(1_999);
    expect(worker.ledger.asked.filter((text) => text.startsWith('claim'))).toEqual([]);
    expect(starts).toEqual([ended.id, running.id]);
    await clock.advance(2_000);
    expect(starts).toEqual([ended.id, running.id, late.id]);
  });

  it('restarts the two-second pause when it was away again meanwhile', async () => {
    const worker = world.process();
    let starts = 0;
    await worker.consume(() => void starts++);
    worker.ledger.cut();
    await clock.advance(3_000);
    await world.add(0);
    worker.ledger.restore(false);
    await clock.advance(1_500);
    worker.ledger.cut();
    await clock.advance(100);
    worker.ledger.restore(false);
    await clock.advance(1_999);
    expect(starts).toBe(0);
    await clock.advance(1_000);
    expect(starts).toBe(1);
  });

  it('keeps what it holds where the ledger is back within the second', async () => {
    const worker = world.process();
    const starts: number[] = [];
    await worker.consume((_payload, { lateness }) => void starts.push(lateness));
    await world.add(1_500);
    await clock.advance(1_400);
    worker.ledger.cut();
    await clock.advance(900);
    worker.ledger.restore(false);
    await clock.advance(2_000);
    expect(starts).toEqual([2_800]);
  });

  it('runs what is due as soon as the same server is back, however often it goes', async () => {
    const worker = world.process();
    const starts: number[] = [];
    await worker.consume((_payload, { lateness }) => void starts.push(lateness));
    for (let i = 0; i < 5; i++) await world.add(500 + i * 1_900);
    for (let i = 0; i < 5; i++) {
      await clock.advance(450);
      worker.ledger.cut();
      await clock.advance(150);
      worker.ledger.restore();
      await clock.advance(1_300);
    }
    expect(starts).toHaveLength(5);
    expect(Math.max(...starts)).toBeLessThan(150);
  });

  it('takes over no run of a process that was cut off, too, and comes back a little later', async () => {
    const [slow, other] = [world.process(), world.process()];
    let starts = 0;
    const start = () => {
      starts++;
      return forEver();
    };
    await slow.consume(start);
    const { id } = await world.add(0);
    await other.consume(start);
    for (const { ledger } of [slow, other]) ledger.cut();
    await clock.advance(LEASE + 1_000);
    other.ledger.restore();
    await clock.advance(1_500);
    expect(other.ledger.asked).toContain(`claim ${id}`);
    slow.ledger.restore();
    await clock.advance(60_000);
    expect(starts).toBe(1);
  });

  it('does not begin; it begins two seconds after the ledger is there', async () => {
    const worker = world.process();
    worker.ledger.away = true;
    await worker.consume(forEver);
    worker.ledger.cut();
    const { id } = await world.add(0);
    await clock.advance(20_000);
    expect(await world.copies()).toEqual({ ...NONE, ready: 3 });
    worker.ledger.restore(false);
    await clock.advance(1_999);
    expect(worker.ledger.asked).toEqual([]);
    await clock.advance(1_000);
    expect(worker.ledger.asked).toContain(`claim ${id}`);
    await clock.advance(LEASE);
    expect(count(worker.ledger.asked, `extend ${id}`)).toBeGreaterThanOrEqual(2);
  });

  it('does not begin where only the listeners of other tubes heard of it', async () => {
    const worker = world.process();
    // Time was read before, so only `away` tells.
    const consumer = worker.prepare(() => undefined);
    worker.ledger.tube('tube').readTime = () => Promise.resolve();
    worker.ledger.away = true;
    consumer.start();
    await world.addMany(5, 0);
    await clock.advance(5_000);
    expect(await world.copies()).toEqual({ ...NONE, ready: 15 });
  });
});

it('reports a lost lease even when the handler ended before anybody could ask', async () => {
  const [silent, other] = [world.process(), world.process()];
  let end: (() => void) | undefined;
  let runs = 0;
  await silent.consume(() => {
    runs++;
    return new Promise<void>((resolve) => (end = resolve));
  });
  await world.add(0);
  silent.ledger.cut();
  await other.consume(() => void runs++);
  await clock.advance(LEASE + 10_000);
  expect(runs).toBe(2);
  end!();
  await world.settle();
  expect(silent.reports).toEqual([]);
  silent.ledger.restore();
  await world.settle();
  expect(silent.reports).toEqual(['lease lost 1']);
});

it('refuses the outcome of a run that was silent for longer than its lease, and raises its signal', async () => {
  const [silent, other] = [world.process(), world.process()];
  const jobs: DelayedJob[] = [];
  let end: (() => void) | undefined;
  await silent.consume((_payload, job) => {
    jobs.push(job);
    return new Promise<void>((resolve) => (end = resolve));
  });
  const { id } = await world.add(0);
  silent.ledger.cut();
  await other.consume((_payload, job) => void jobs.push(job));
  await clock.advance(LEASE - 100);
  expect(jobs).toHaveLength(1);
  expect(jobs[0]!.signal.aborted).toBe(false);
  await clock.advance(10_000);
  expect(jobs).toHaveLength(2);
  expect(jobs[1]).toMatchObject({ id, attempt: 2 });
  expect(jobs[1]!.fence).toBeGreaterThan(jobs[0]!.fence);
  // Silence is no reason to stop.
  expect(jobs[0]!.signal.aborted).toBe(false);
  silent.ledger.restore();
  await world.settle();
  expect((jobs[0]!.signal.reason as DqError).code).toBe('DQ_LEASE_LOST');
  expect(silent.reports).toContain('lease lost 1');
  end!();
  await clock.advance(60_000);
  expect(jobs).toHaveLength(2);
  expect(await world.copies()).toEqual(NONE);
});

describe('a job that the ledger fails at', () => {
  it('is reported once, and neither keeps the others from ending nor loses its own outcome', async () => {
    const worker = world.process();
    const tube = worker.ledger.tube('tube');
    const finish = tube.complete.bind(tube);
    let bad = '';
    const healed = clock.now() + 12_000;
    tube.complete = (requests) =>
      requests.some(({ id }) => id === bad) && clock.now() < healed
        ? Promise.reject(new Error('WRONGTYPE'))
        : finish(requests);
    let starts = 0;
    await worker.consume(() => {
      starts++;
      throw Discard.because('gone');
    });
    const all = await world.addMany(5, 1_000);
    bad = all[2]!.id;
    await clock.advance(1_500);
    expect(await world.copies()).toMatchObject({ buried: 4, reserved: 1 });
    await clock.advance(60_000);
    expect(starts).toBe(5);
    expect(worker.reports.filter((text) => text.startsWith('ledger'))).toEqual([
      `ledger trouble ${bad} WRONGTYPE`,
    ]);
    expect(await world.copies()).toEqual({ ...NONE, buried: 15 });
  });
});
