import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DAY, KitOfTest, MINUTE, NONE, Orders, really, START } from '../../spec-support/kit-of-test.js';
import { Again } from '../api/outcome.js';
import { defineTube } from '../api/tube.js';
import { DqTestKit } from './dq-test-kit.js';
import { VirtualClock } from 'nest-handlers/testing';

const test = new KitOfTest();

describe('time', () => {
  it('begins at the given time, or now, and stands still', async () => {
    expect(test.kit.now).toEqual(START);
    await really(5);
    expect(test.kit.now).toEqual(START);
    const before = Date.now();
    const { now } = new DqTestKit();
    expect(now.getTime()).toBeGreaterThanOrEqual(before);
    expect(now.getTime()).toBeLessThanOrEqual(Date.now());
  });

  it('moves by a duration and to an instant, and never back', async () => {
    await test.noting();
    await test.kit.advance('15m');
    expect(test.elapsed()).toBe(15 * MINUTE);
    await test.kit.advanceTo(new Date(START.getTime() + DAY));
    expect(test.elapsed()).toBe(DAY);
    await expect(test.kit.advanceTo(START)).rejects.toMatchObject({ code: 'DQ_PAST_TIME' });
    await expect(test.kit.advance('15' as '15s')).rejects.toMatchObject({ code: 'DQ_BAD_DURATION' });
    expect(test.elapsed()).toBe(DAY);
  });

  it('runs a job at its millisecond, not before, and counts it once', async () => {
    const runs = await test.noting();
    await test.kit.producer.delay(Orders, { id: 'a' }, '15m');
    await test.kit.producer.at(Orders, { id: 'b' }, START.getTime() + 1_234_567);
    expect(await test.kit.advance(15 * MINUTE - 1)).toEqual(NONE);
    expect(await test.kit.advance(1)).toEqual({ ...NONE, started: 1, completed: 1 });
    expect(await test.kit.advance('1h')).toEqual({ ...NONE, started: 1, completed: 1 });
    expect(runs).toEqual([
      ['a', 15 * MINUTE],
      ['b', 1_234_567],
    ]);
  });

  it('runs nothing before it is moved, and what is due now without moving', async () => {
    const runs = await test.noting();
    await test.kit.producer.now(Orders, { id: 'a' });
    await test.kit.producer.delay(Orders, { id: 'b' }, 1);
    await really(20);
    expect(runs).toEqual([]);
    expect(await test.kit.drain()).toEqual({ ...NONE, started: 1, completed: 1 });
    expect(runs).toEqual([['a', 0]]);
    expect(test.elapsed()).toBe(0);
    await really(20);
    expect(await test.kit.advance(1)).toMatchObject({ started: 1 });
  });

  it('leaps over months without passing through them', async () => {
    const runs = await test.noting();
    await test.kit.producer.delay(Orders, { id: 'a' }, 300 * DAY + 1_234);
    const began = process.cpuUsage().user;
    await test.kit.advance(400 * DAY);
    expect(process.cpuUsage().user - began).toBeLessThan(2e6);
    expect(runs).toEqual([['a', 300 * DAY + 1_234]]);
  });

  it('runs what handlers schedule on the way', async () => {
    const runs = await test.noting(async ({ payload: { id } }) => {
      await really(1);
      if (id.length < 4) await test.kit.producer.delay(Orders, { id: `${id}a` }, '1d');
    });
    await test.kit.producer.now(Orders, { id: 'a' });
    expect(await test.kit.advance('3d')).toMatchObject({ started: 4, completed: 4 });
    expect(runs.map(([, at]) => at)).toEqual([0, DAY, 2 * DAY, 3 * DAY]);
  });

  it('takes one move of time after the other', async () => {
    const runs = await test.noting();
    await test.kit.producer.delay(Orders, { id: 'a' }, '2m');
    const [first, second] = await Promise.all([test.kit.advance('1m'), test.kit.advance('1m')]);
    expect([first.started, second.started]).toEqual([0, 1]);
    expect(runs).toEqual([['a', 2 * MINUTE]]);
  });
});

describe('a series', () => {
  it('costs its runs, and not the time between them', async () => {
    const runTimer = jest.spyOn(VirtualClock.prototype, 'runTimer');
    try {
      await test.noting(() => Again.after('1h'));
      await test.kit.producer.now(Orders, { id: 'hourly' });
      expect(await test.kit.advance('5d')).toMatchObject({ started: 121 });
      expect(runTimer.mock.calls.length).toBeLessThan(121 * 100);
    } finally {
      runTimer.mockRestore();
    }
  });

  describe('that polls', () => {
    const Outbox = defineTube('outbox');
    /** When it looked, and how much there was. */
    let looks: [at: number, rows: number][];
    let rows: string[];

    beforeEach(async () => {
      await test.kit.close();
      test.kit = new DqTestKit({ now: START, polls: [Outbox] });
      looks = [];
      rows = [];
      await test.kit.consumer.consume(Outbox, async () => {
        looks.push([test.elapsed(), rows.length]);
        for (const id of rows.splice(0)) await test.kit.producer.now(Orders, { id });
        return Again.after('5s');
      });
      await test.kit.producer.now(Outbox, undefined);
    });

    it('is skipped while nothing else happens, except one look a day and one at the end', async () => {
      const { started } = await test.kit.advance('30d');
      expect(started).toBe(looks.length);
      expect(started).toBeLessThan(50);
      for (let day = 0; day < 30; day++) {
        expect(looks.some(([at]) => at >= day * DAY && at < (day + 1) * DAY)).toBe(true);
      }
      expect(looks.at(-1)![0]).toBeGreaterThan(30 * DAY - MINUTE);
    });

    it('looks on time after any run, and so passes on what that left', async () => {
      const relayed = await test.noting();
      await test.kit.consumer.consume('work', () => void rows.push('late'));
      await test.kit.producer.delay('work', 'x', 10 * DAY + 1_234);
      await test.kit.advance('30d');
      expect(relayed).toEqual([['late', expect.any(Number)]]);
      expect(relayed[0]![1] - (10 * DAY + 1_234)).toBeGreaterThanOrEqual(0);
      expect(relayed[0]![1] - (10 * DAY + 1_234)).toBeLessThanOrEqual(5_000);
    });

    it('looks on time after what the test itself did between two moves', async () => {
      const relayed = await test.noting();
      await test.kit.advance('10d');
      rows.push('mine');
      await test.kit.advance('10d');
      expect(relayed).toEqual([['mine', expect.any(Number)]]);
      expect(relayed[0]![1]).toBeLessThanOrEqual(10 * DAY + 5_000);
    });

    it('looks each time while the steps are short', async () => {
      await test.kit.drain();
      for (let i = 0; i < 12; i++) await test.kit.advance('5s');
      expect(looks.map(([at]) => at)).toEqual(Array.from({ length: 13 }, (_, i) => i * 5_000));
    });
  });
});
