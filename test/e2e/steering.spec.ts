import { describe, expect, it } from '@jest/globals';
import { Discard } from 'nest-dq';
import type { BulkProgress } from 'nest-dq/src/operate/bulk.js';
import { eventually } from 'test-servers';
import { countCopies } from '../support/copies.js';
import { clusterSuite } from '../support/suite.js';

const JOBS = 300;
const suite = clusterSuite();

async function lastOf<T>(act: AsyncIterable<BulkProgress<T>>): Promise<BulkProgress<T>> {
  let last: BulkProgress<T> | undefined;
  for await (const progress of act) last = progress;
  return last!;
}

describe('on a cluster', () => {
  it('runNow runs a waiting job, and says what any other job is', async () => {
    const { producer, consumer, control } = suite.start();
    const [waits, dies, runs] = await Promise.all([
      producer.delay('now', 'waits', '1h'),
      producer.delay('now', 'dies', '1h'),
      producer.delay('now', 'runs', '1h'),
    ]);
    let end: () => void = () => undefined;
    let isRunning = false;
    await consumer.consume('now', (payload) => {
      if (payload === 'dies') return Discard.because('it is the test’s wish');
      if (payload === 'waits') return undefined;
      isRunning = true;
      return new Promise<void>((resolve) => (end = resolve));
    });
    const states = async () => (await producer.find(waits!))?.state;
    for (const each of [waits, dies, runs]) expect(await control.runNow(each!)).toBe('rescheduled');
    await eventually('it ran', async () => (await states()) === 'done');
    await eventually('the other runs', () => isRunning);
    await eventually('one is dead', async () => (await producer.find(dies!))?.state === 'dead');
    const again = [waits, dies, runs].map((each) => control.runNow(each!));
    expect(await Promise.all(again)).toEqual(['done', 'dead', 'running']);
    end();
  }, 120_000);

  it('jobs that wait are moved and revoked by their time, and their old copies are deleted', async () => {
    const { producer, control, nodes } = suite.start();
    const hour = 3_600_000;
    const jobs = Array.from({ length: JOBS }, (_, i) => ({ payload: i, key: String(i), delay: hour + i }));
    const receipts = await producer.addMany('later', jobs);
    const middle = receipts[JOBS / 2]!.dueAt;
    const moved = await lastOf(control.rescheduleMany('later', { dueTo: middle }, { later: '1d' }));
    expect(moved).toMatchObject({ failed: 0, skipped: 0 });
    const first = await producer.find(receipts[0]!);
    expect(first!.dueAt.getTime()).toBe(receipts[0]!.dueAt.getTime() + 24 * hour);
    const revoked = await lastOf(control.revokeMany('later', { dueTo: new Date(middle.getTime() + hour) }));
    expect(revoked).toMatchObject({ failed: 0, skipped: 0 });
    expect(moved.done + revoked.done).toBe(JOBS);
    const found = await Promise.all(receipts.map((receipt) => producer.find(receipt)));
    expect(found.filter((view) => view?.state === 'waiting')).toHaveLength(moved.done);
    const counts = await Promise.all(nodes.map((node) => countCopies(node, 'later')));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3 * moved.done);
  }, 120_000);

  it('a peak is spread in the order of its due times, none earlier, and each job runs once at its new time', async () => {
    const { producer, consumer, control, inspector } = suite.start();
    const start = Date.now() + 10_000;
    const jobs = Array.from({ length: JOBS }, (_, i) => ({ payload: i, at: new Date(start + (i % 3)) }));
    const receipts = await producer.addMany('peak', jobs);
    const isListed = async () => (await inspector.jobs('peak')).listed === JOBS;
    await eventually('all are listed', isListed);
    const spread = await lastOf(control.rescheduleMany('peak', {}, { spread: '3s' }));
    expect(spread).toMatchObject({ done: JOBS, failed: 0, skipped: 0 });
    const found = await Promise.all(receipts.map((receipt) => producer.find(receipt)));
    const dues = found.map((view) => view!.dueAt.getTime());
    dues.forEach((due, i) => expect(due).toBeGreaterThanOrEqual(receipts[i]!.dueAt.getTime()));
    const least = (third: number) => Math.min(...dues.filter((_, i) => i % 3 === third));
    const most = (third: number) => Math.max(...dues.filter((_, i) => i % 3 === third));
    expect(most(0)).toBeLessThan(least(1));
    expect(most(1)).toBeLessThan(least(2));
    const turns = Array.from({ length: JOBS }, (_, i) => Math.max(start, start + i * 10));
    expect(dues.toSorted((a, b) => a - b)).toEqual(turns);
    const ran = new Map<number, number>();
    const early: number[] = [];
    await consumer.consume('peak', (payload, job) => {
      const i = payload as number;
      ran.set(i, (ran.get(i) ?? 0) + 1);
      if (job.dueAt.getTime() !== dues[i]) early.push(i);
    });
    await eventually('all ran', () => ran.size === JOBS);
    expect([new Set(ran.values()), early]).toEqual([new Set([1]), []]);
  }, 120_000);

  it('a paused tube is resumed gradually', async () => {
    const { producer, control, inspector } = suite.start();
    await control.pause('held');
    const receipts = await producer.addMany(
      'held',
      Array.from({ length: JOBS }, (_, i) => ({ payload: i, delay: 0 })),
    );
    await eventually('all are overdue', async () => (await inspector.tube('held')).overdue === JOBS);
    const told = await lastOf(control.resumeGradually('held', { perMinute: 600 }));
    expect(told).toMatchObject({ done: JOBS, failed: 0, skipped: 0 });
    const found = await Promise.all(receipts.map((receipt) => producer.find(receipt)));
    const dues = found.map((view) => view!.dueAt.getTime()).toSorted((a, b) => a - b);
    expect(dues.map((due) => due - dues[0]!)).toEqual(receipts.map((_, i) => i * 100));
    expect(told.spread!.to.getTime()).toBe(dues.at(-1));
    expect(await control.resume('held')).toEqual({});
  }, 120_000);
});
