import { describe, expect, it } from '@jest/globals';
import type { TubeLedger } from '../ledger/ledger.js';
import { NONE, clock, consumingInEachTest, forEver, world } from '../../spec-support/consuming.js';
import { stored } from '../../spec-support/stored.js';

consumingInEachTest();

const SECOND = 1_000;
const tube = (): TubeLedger => world.ledger.tube(stored('tube'));
const claimsOf = (asked: readonly string[]) => asked.filter((text) => text.startsWith('claim'));

describe('a paused tube', () => {
  it('runs nothing, holds nothing and claims nothing more, and resumes within a second of the resume call', async () => {
    const worker = world.process();
    const runs: number[] = [];
    await worker.consume((_payload, { attempt }) => void runs.push(attempt), { concurrency: 3 });
    await tube().pause();
    await world.addMany(10, 0);
    await clock.advance(100);
    const claimed = claimsOf(worker.ledger.asked).length;
    expect(claimed).toBeLessThanOrEqual(6);
    await clock.advance(60 * SECOND);
    expect(await world.copies()).toEqual({ ...NONE, ready: 30 });
    expect(await world.waits()).toBe(0);
    expect(claimsOf(worker.ledger.asked)).toHaveLength(claimed);
    expect(runs).toEqual([]);
    await tube().resume();
    await clock.advance(SECOND);
    expect(runs).toEqual(Array.from({ length: 10 }, () => 1));
    await clock.advance(5 * SECOND);
    expect(await world.copies()).toEqual(NONE);
  });

  it('is not waited for on connections that it shares with others', async () => {
    const worker = world.process();
    await worker.consume(() => undefined);
    expect(await world.waits()).toBe(3);
    await tube().pause();
    await world.add(5 * SECOND);
    await clock.advance(20 * SECOND);
    expect(await world.waits()).toBe(0);
    await tube().resume();
    await clock.advance(SECOND);
    expect(await world.waits()).toBe(3);
  });

  it('resumes when its pause expires', async () => {
    const worker = world.process();
    const late: number[] = [];
    await worker.consume((_payload, { lateness }) => void late.push(lateness));
    await tube().pause(tube().now() + 2_500);
    await world.add(0);
    await clock.advance(2_499);
    expect(late).toEqual([]);
    await clock.advance(10);
    expect(late).toHaveLength(1);
    expect(late[0]).toBeLessThan(2_510);
  });

  it('holds none of its early copies after the first claim', async () => {
    const worker = world.process();
    const runs: string[] = [];
    const consumer = await worker.consume((_payload, { id }) => void runs.push(id));
    await tube().pause();
    await world.add(300);
    await world.add(900);
    await clock.advance(350);
    expect(consumer.load.held).toBe(0);
    expect((await world.copies()).reserved).toBe(0);
    await clock.advance(60 * SECOND);
    expect(consumer.load.held).toBe(0);
    expect(runs).toEqual([]);
    await tube().resume();
    await clock.advance(SECOND);
    expect(runs).toHaveLength(2);
  });

  it('lets running handlers finish, and takes their outcomes', async () => {
    const worker = world.process();
    let end: (() => void) | undefined;
    let starts = 0;
    await worker.consume(() => {
      starts++;
      return new Promise<void>((resolve) => (end = resolve));
    });
    const running = await world.add(0);
    await tube().pause();
    await world.add(0);
    await clock.advance(40 * SECOND);
    end!();
    await world.settle();
    expect(worker.ledger.asked).toContain(`complete ${running.id} done`);
    expect(await tube().find([running.id])).toMatchObject([{ state: 'done' }]);
    expect(starts).toBe(1);
  });

  it('keeps a retry waiting without counting it', async () => {
    const worker = world.process();
    const attempts: number[] = [];
    const options = { attempts: 3, backoff: { type: 'fixed', delay: SECOND, jitter: 0 } } as const;
    await worker.consume((_payload, { attempt }) => {
      attempts.push(attempt);
      throw new Error('no');
    }, options);
    await world.add(0);
    await tube().pause();
    await clock.advance(30 * SECOND);
    expect(attempts).toEqual([1]);
    await tube().resume();
    await clock.advance(10 * SECOND);
    expect(attempts).toEqual([1, 2, 3]);
  });

  it('is asked for once a second by a process that knows of its pause, even while the ledger comes and goes', async () => {
    const worker = world.process();
    let runs = 0;
    await worker.consume(() => void runs++);
    await tube().pause();
    await world.add(0);
    await clock.advance(5 * SECOND);
    worker.ledger.cut();
    await clock.advance(5 * SECOND);
    await tube().resume();
    await clock.advance(2 * SECOND);
    expect(runs).toBe(0);
    worker.ledger.restore();
    await clock.advance(SECOND);
    expect(runs).toBe(1);
  });

  it('stays paused for a process that hears from the ledger again', async () => {
    const worker = world.process();
    let runs = 0;
    await worker.consume(() => void runs++);
    await tube().pause();
    await world.add(0);
    await clock.advance(500);
    worker.ledger.cut();
    await clock.advance(2 * SECOND);
    worker.ledger.restore();
    const claimed = claimsOf(worker.ledger.asked).length;
    await clock.advance(10 * SECOND);
    expect(claimsOf(worker.ledger.asked)).toHaveLength(claimed);
    expect(runs).toBe(0);
  });

  it('is the same for a process that starts in the pause, and can be stopped', async () => {
    await tube().pause();
    await world.addMany(5, 0);
    const worker = world.process();
    let runs = 0;
    const consumer = await worker.consume(() => void runs++);
    await clock.advance(10 * SECOND);
    expect(runs).toBe(0);
    expect(await world.stopped(consumer, 0)).toBeLessThanOrEqual(SECOND);
    expect(await world.copies()).toEqual({ ...NONE, ready: 15 });
    await tube().resume();
    await clock.advance(10 * SECOND);
    expect(runs).toBe(0);
    await world.process().consume(() => void runs++);
    await clock.advance(10 * SECOND);
    expect(runs).toBe(5);
  });

  it('resumes although a handler never ends', async () => {
    const worker = world.process();
    let starts = 0;
    await worker.consume(() => {
      starts++;
      return forEver();
    });
    await world.add(0);
    await tube().pause();
    await world.add(0);
    await clock.advance(5 * SECOND);
    await tube().resume();
    await clock.advance(2 * SECOND);
    expect(starts).toBe(2);
  });
});
