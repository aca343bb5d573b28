import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { clusterSuite } from '../support/suite.js';

const suite = clusterSuite();

/** Handlers of two processes that run until they are released. */
class Held {
  readonly groups: (string | undefined)[] = [];
  private readonly ends: (() => void)[] = [];

  readonly handler = (_payload: unknown, { group }: { readonly group?: string }): Promise<void> => {
    this.groups.push(group);
    return new Promise((resolve) => this.ends.push(resolve));
  };

  get running(): number {
    return this.ends.length;
  }

  endOne(): void {
    this.ends.shift()!();
  }
}

describe('limits on a cluster', () => {
  it('hold in all processes together, and are shown with what runs', async () => {
    const [one, two] = [suite.start(), suite.start()];
    const held = new Held();
    const limit = { concurrency: 3 };
    for (const { consumer } of [one, two]) await consumer.consume('export', held.handler, { limit });
    const jobs = Array.from({ length: 12 }, (_, i) => ({ payload: i, delay: 0 }));
    const receipts = await one.producer.addMany('export', jobs);
    await eventually('three run', () => held.running === 3);
    await eventually('that is shown', async () => {
      const { limits } = await two.inspector.tube('export');
      return limits?.concurrency === 3 && limits.running === 3 && !limits.unequal;
    });
    const explained = await Promise.all(receipts.map((receipt) => two.inspector.explain(receipt)));
    const because = (name: string) => explained.filter((each) => each.because === name);
    expect([because('running').length, because('limited').length]).toEqual([3, 9]);
    expect(because('limited')[0]!.why).toMatch(
      /, but tube export is limited to 3 runs at a time \(running: 3\)\.$/,
    );
    let most = 0;
    for (let done = 0; done < 12; done++) {
      await eventually('as many run as may', () => held.running >= Math.min(3, 12 - done));
      most = Math.max(most, held.running);
      held.endOne();
    }
    expect(most).toBe(3);
    const states = async () =>
      (await Promise.all(receipts.map((each) => one.producer.find(each)))).map((view) => view?.state);
    await eventually('all are done', async () => (await states()).every((state) => state === 'done'));
  }, 120_000);

  it('run one job of a group at a time, including one that was moved, and others meanwhile', async () => {
    const { producer, consumer, inspector } = suite.start();
    const held = new Held();
    await consumer.consume('sync', held.handler, { limit: { perGroup: 1 } });
    const first = await producer.now('sync', 1, { group: 'user-17' });
    await eventually('it runs', () => held.running === 1);
    const moved = await producer.delay('sync', 2, '1h', { group: 'user-17' });
    expect(await producer.reschedule(moved, { delay: 0 })).toBe('rescheduled');
    await eventually('the limit is known', async () => (await inspector.tube('sync')).limits !== undefined);
    await eventually('the limit holds it back', async () => {
      const { because, why } = await inspector.explain(moved);
      return because === 'limited' && why.includes('in group "user-17": 1');
    });
    await producer.now('sync', 3, { group: 'user-18' });
    await producer.now('sync', 4);
    await eventually('the others run', () => held.running === 3);
    expect(held.groups.filter((group) => group === 'user-17')).toHaveLength(1);
    held.endOne();
    await eventually('it is done', async () => (await producer.find(first))?.state === 'done');
    await eventually(
      'the next of the group runs',
      () => held.groups.filter((group) => group === 'user-17').length === 2,
    );
    while (held.running > 0) held.endOne();
    await eventually('it is done, too', async () => (await producer.find(moved))?.state === 'done');
  }, 120_000);
});
