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
});
