import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Again, Discard, type DelayedJob } from '../api/job.js';
import { defineTube } from '../api/tube.js';
import { DqTestKit } from './dq-test-kit.js';
import { VirtualClock } from './virtual-clock.js';

const Orders = defineTube<{ id: string }>('orders');
const NONE = { started: 0, completed: 0, failed: 0, dead: 0 };
const START = new Date('2030-01-01T00:00:00Z');
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let kit: DqTestKit;
beforeEach(() => {
  Logger.overrideLogger(false);
  kit = new DqTestKit({ now: START });
});
afterEach(() => kit.close());

/** Milliseconds since the start. */
const elapsed = () => kit.now.getTime() - START.getTime();

/** Runs the tube's jobs, and notes when: payload's id, and the time. */
async function noting(handle: (job: DelayedJob<{ id: string }>) => unknown = () => undefined, options = {}) {
  const runs: [id: string, at: number][] = [];
  await kit.consumer.consume(
    Orders,
    ({ id }, job) => {
      runs.push([id, elapsed()]);
      return handle(job);
    },
    options,
  );
  return runs;
}

/** A wait that only real time ends. */
const really = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('time', () => {
  it('begins where it is told, or now, and stands still', async () => {
    expect(kit.now).toEqual(START);
    await really(5);
    expect(kit.now).toEqual(START);
    const before = Date.now();
    const { now } = new DqTestKit();
    expect(now.getTime()).toBeGreaterThanOrEqual(before);
    expect(now.getTime()).toBeLessThanOrEqual(Date.now());
  });

  it('moves by a duration and to an instant, and never back', async () => {
    await noting();
    await kit.advance('15m');
    expect(elapsed()).toBe(15 * MINUTE);
    await kit.advanceTo(new Date(START.getTime() + DAY));
    expect(elapsed()).toBe(DAY);
    await expect(kit.advanceTo(START)).rejects.toMatchObject({ code: 'DQ_PAST_TIME' });
    await expect(kit.advance('15' as '15s')).rejects.toMatchObject({ code: 'DQ_BAD_DURATION' });
    expect(elapsed()).toBe(DAY);
  });

  it('runs a job at its millisecond, not before, and counts it once', async () => {
    const runs = await noting();
    await kit.producer.delay(Orders, { id: 'a' }, '15m');
    await kit.producer.at(Orders, { id: 'b' }, START.getTime() + 1_234_567);
    expect(await kit.advance(15 * MINUTE - 1)).toEqual(NONE);
    expect(await kit.advance(1)).toEqual({ ...NONE, started: 1, completed: 1 });
    expect(await kit.advance('1h')).toEqual({ ...NONE, started: 1, completed: 1 });
    expect(runs).toEqual([
      ['a', 15 * MINUTE],
      ['b', 1_234_567],
    ]);
  });

  it('runs nothing before it is moved, and what is due now without moving', async () => {
    const runs = await noting();
    await kit.producer.now(Orders, { id: 'a' });
    await kit.producer.delay(Orders, { id: 'b' }, 1);
    await really(20);
    expect(runs).toEqual([]);
    expect(await kit.drain()).toEqual({ ...NONE, started: 1, completed: 1 });
    expect(runs).toEqual([['a', 0]]);
    expect(elapsed()).toBe(0);
    await really(20);
    expect(await kit.advance(1)).toMatchObject({ started: 1 });
  });

  it('leaps over months without passing through them', async () => {
    const runs = await noting();
    await kit.producer.delay(Orders, { id: 'a' }, 300 * DAY + 1_234);
    const began = process.cpuUsage().user;
    await kit.advance(400 * DAY);
    expect(process.cpuUsage().user - began).toBeLessThan(2e6);
    expect(runs).toEqual([['a', 300 * DAY + 1_234]]);
  });

  it('runs what handlers schedule on the way', async () => {
    const runs = await noting(async ({ payload: { id } }) => {
      await really(1);
      if (id.length < 4) await kit.producer.delay(Orders, { id: `${id}a` }, '1d');
    });
    await kit.producer.now(Orders, { id: 'a' });
    expect(await kit.advance('3d')).toMatchObject({ started: 4, completed: 4 });
    expect(runs.map(([, at]) => at)).toEqual([0, DAY, 2 * DAY, 3 * DAY]);
  });

  it('takes one journey after the other', async () => {
    const runs = await noting();
    await kit.producer.delay(Orders, { id: 'a' }, '2m');
    const [first, second] = await Promise.all([kit.advance('1m'), kit.advance('1m')]);
    expect([first.started, second.started]).toEqual([0, 1]);
    expect(runs).toEqual([['a', 2 * MINUTE]]);
  });
});

describe('runs', () => {
  it('of a backlog all take place in a drain, however few at once', async () => {
    let now = 0;
    let most = 0;
    const runs = await noting(
      async () => {
        most = Math.max(most, ++now);
        await really(0);
        now--;
      },
      { concurrency: 2 },
    );
    await kit.producer.delayMany(
      Orders,
      Array.from({ length: 100 }, (_, i) => ({ payload: { id: String(i) }, delay: 0 })),
    );
    expect(await kit.drain()).toMatchObject({ started: 100, completed: 100 });
    expect(runs).toHaveLength(100);
    expect(most).toBe(2);
    expect(elapsed()).toBe(0);
  });

  it('are retried, and die', async () => {
    const plan = { attempts: 3, backoff: { type: 'fixed', delay: '1m', jitter: 0 } } as const;
    const runs = await noting(() => Promise.reject(new Error('no')), plan);
    await kit.producer.now(Orders, { id: 'a' });
    expect(await kit.drain()).toEqual({ ...NONE, started: 1, failed: 1 });
    expect(kit.scheduled(Orders)).toMatchObject([{ dueAt: new Date(START.getTime() + MINUTE) }]);
    expect(await kit.advance('1h')).toEqual({ started: 2, completed: 0, failed: 2, dead: 1 });
    expect(runs.map(([, at]) => at)).toEqual([0, MINUTE, 2 * MINUTE]);
    expect(kit.scheduled(Orders)).toEqual([]);
  });

  it('that discard are dead at once, and those that go on are completed', async () => {
    await noting(({ payload: { id } }) => (id === 'dead' ? Discard.because('gone') : Again.after('1h')));
    await kit.producer.now(Orders, { id: 'dead' });
    await kit.producer.now(Orders, { id: 'again' });
    expect(await kit.drain()).toEqual({ started: 2, completed: 1, failed: 1, dead: 1 });
    expect(await kit.advance('10h')).toEqual({ ...NONE, started: 10, completed: 10 });
  });

  it('are waited for as long as they really take', async () => {
    const runs = await noting(() => really(100));
    await kit.producer.now(Orders, { id: 'a' });
    await kit.producer.delay(Orders, { id: 'b' }, '1s');
    expect(await kit.advance('1s')).toMatchObject({ started: 2, completed: 2 });
    expect(runs).toEqual([
      ['a', 0],
      ['b', 1_000],
    ]);
  });

  it('that take longer than the patience are left behind, and counted when they end', async () => {
    await kit.close();
    kit = new DqTestKit({ now: START, patience: 20 });
    let end: () => void = () => undefined;
    await noting(() => new Promise<void>((resolve) => (end = resolve)));
    await kit.producer.now(Orders, { id: 'a' });
    expect(await kit.advance('5m')).toEqual({ ...NONE, started: 1 });
    end();
    expect(await kit.advance('1m')).toEqual({ ...NONE, completed: 1 });
  });

  it('end by their timeout, which is virtual', async () => {
    await kit.close();
    kit = new DqTestKit({ now: START, patience: 20 });
    const reasons: unknown[] = [];
    await noting(
      ({ signal }) =>
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            reasons.push([(signal.reason as { code: string }).code, elapsed()]);
            reject(signal.reason as Error);
          }),
        ),
      { timeout: '1m', attempts: 1 },
    );
    await kit.producer.now(Orders, { id: 'a' });
    expect(await kit.advance('2m')).toEqual({ started: 1, completed: 0, failed: 1, dead: 1 });
    expect(reasons).toEqual([['DQ_TIMEOUT', MINUTE]]);
  });
});

describe('a series', () => {
  it('costs its runs, and not the time between them', async () => {
    const runTimer = jest.spyOn(VirtualClock.prototype, 'runTimer');
    try {
      await noting(() => Again.after('1h'));
      await kit.producer.now(Orders, { id: 'hourly' });
      expect(await kit.advance('5d')).toMatchObject({ started: 121 });
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
      await kit.close();
      kit = new DqTestKit({ now: START, polls: [Outbox] });
      looks = [];
      rows = [];
      await kit.consumer.consume(Outbox, async () => {
        looks.push([elapsed(), rows.length]);
        for (const id of rows.splice(0)) await kit.producer.now(Orders, { id });
        return Again.after('5s');
      });
      await kit.producer.now(Outbox, undefined);
    });

    it('is leapt over while nothing else happens, but for a look a day and one at the end', async () => {
      const { started } = await kit.advance('30d');
      expect(started).toBe(looks.length);
      expect(started).toBeLessThan(50);
      for (let day = 0; day < 30; day++) {
        expect(looks.some(([at]) => at >= day * DAY && at < (day + 1) * DAY)).toBe(true);
      }
      expect(looks.at(-1)![0]).toBeGreaterThan(30 * DAY - MINUTE);
    });

    it('looks in its time after whatever runs, and so passes on what that left', async () => {
      const relayed = await noting();
      await kit.consumer.consume('work', () => void rows.push('late'));
      await kit.producer.delay('work', 'x', 10 * DAY + 1_234);
      await kit.advance('30d');
      expect(relayed).toEqual([['late', expect.any(Number)]]);
      expect(relayed[0]![1] - (10 * DAY + 1_234)).toBeGreaterThanOrEqual(0);
      expect(relayed[0]![1] - (10 * DAY + 1_234)).toBeLessThanOrEqual(5_000);
    });

    it('looks in its time after what the test itself did between two journeys', async () => {
      const relayed = await noting();
      await kit.advance('10d');
      rows.push('mine');
      await kit.advance('10d');
      expect(relayed).toEqual([['mine', expect.any(Number)]]);
      expect(relayed[0]![1]).toBeLessThanOrEqual(10 * DAY + 5_000);
    });

    it('looks each time while the steps are short', async () => {
      await kit.drain();
      for (let i = 0; i < 12; i++) await kit.advance('5s');
      expect(looks.map(([at]) => at)).toEqual(Array.from({ length: 13 }, (_, i) => i * 5_000));
    });
  });
});

describe('scheduled', () => {
  it('lists what waits, the soonest first, with what was said of it', async () => {
    const options = {
      key: 'k',
      priority: 'high',
      attempts: 3,
      headers: { tenant: 'x' },
      backoff: { type: 'fixed', delay: 5, max: 10, jitter: 0 },
    } as const;
    await kit.producer.delay(Orders, { id: 'b' }, '2m', options);
    const { id } = await kit.producer.delay(Orders, { id: 'a' }, '1m');
    await kit.producer.delay('others', 'text', '1m');
    expect(kit.scheduled(Orders)).toEqual([
      { id, tube: 'orders', payload: { id: 'a' }, dueAt: new Date(START.getTime() + MINUTE), options: {} },
      {
        id: expect.any(String),
        tube: 'orders',
        key: 'k',
        payload: { id: 'b' },
        dueAt: new Date(START.getTime() + 2 * MINUTE),
        options,
      },
    ]);
    expect(kit.scheduled('others')).toMatchObject([{ payload: 'text' }]);
    expect(kit.scheduled('none')).toEqual([]);
  });

  it('lists a job as it was moved or replaced last, and not what was revoked, runs or ran', async () => {
    await noting(({ payload: { id } }) => {
      expect(kit.scheduled(Orders).map(({ payload }) => payload.id)).not.toContain(id);
    });
    const { producer } = kit;
    await producer.delay(Orders, { id: 'moved' }, '1m', { key: 'moved' });
    await producer.reschedule({ tube: Orders, key: 'moved' }, { delay: '3m' }, { payload: { id: 'anew' } });
    await producer.delay(Orders, { id: 'old' }, '1m', { key: 'replaced' });
    await producer.delay(Orders, { id: 'new' }, '4m', { key: 'replaced' });
    await producer.revoke(await producer.delay(Orders, { id: 'revoked' }, '1m'));
    await producer.now(Orders, { id: 'done' });
    expect(await kit.drain()).toMatchObject({ completed: 1 });
    expect(kit.scheduled(Orders).map(({ payload }) => payload.id)).toEqual(['anew', 'new']);
  });

  it('lists what is due and has not been run', async () => {
    await noting();
    await kit.producer.now(Orders, { id: 'a' });
    await really(20);
    expect(kit.scheduled(Orders)).toMatchObject([{ payload: { id: 'a' }, dueAt: START }]);
  });
});

describe('nodes', () => {
  it('that sleep are stood in for by others, a little later', async () => {
    const runs = await noting();
    await kit.producer.delayMany(
      Orders,
      Array.from({ length: 30 }, (_, i) => ({ payload: { id: String(i) }, delay: '1h' })),
    );
    kit.sleepNode(0);
    expect(await kit.advance('1h')).toMatchObject({ started: 20 });
    expect(await kit.advance('10s')).toMatchObject({ started: 10 });
    expect(new Set(runs.map(([id]) => id)).size).toBe(30);
    kit.wakeNode(0);
    expect(await kit.advance('1h')).toEqual(NONE);
  });

  it('are written to again once they are awake', async () => {
    kit.sleepNode(1);
    expect(await kit.producer.delay(Orders, { id: 'a' }, '1h')).toMatchObject({ copies: 2 });
    kit.wakeNode(1);
    await kit.advance('2s');
    expect(await kit.producer.delay(Orders, { id: 'b' }, '1h')).toMatchObject({ copies: 3 });
  });

  it.each([false, true])(
    'that are too few to write on fail an add at once; used before: %s',
    async (used) => {
      if (used) await kit.producer.delay(Orders, { id: 'a' }, '1h');
      for (const index of [0, 1]) kit.sleepNode(index);
      for (let i = 0; i < 3; i++) {
        const failed = kit.producer.delay(Orders, { id: 'b' }, '1h');
        await expect(failed).rejects.toMatchObject({ code: 'DQ_TOO_FEW_COPIES' });
      }
      expect(elapsed()).toBe(0);
      for (const index of [0, 1]) kit.wakeNode(index);
      await kit.advance('2s');
      expect(await kit.producer.delay(Orders, { id: 'c' }, '1h')).toMatchObject({ copies: 3 });
    },
  );

  it('are as many as is said', async () => {
    const small = new DqTestKit({ nodes: 1 });
    expect(await small.producer.delay(Orders, { id: 'a' }, '1h')).toMatchObject({ copies: 1 });
    for (const index of [-1, 1, 0.5]) {
      expect(() => small.sleepNode(index)).toThrow(expect.objectContaining({ code: 'DQ_BAD_OPTION' }));
    }
    for (const nodes of [0, 17, 1.5]) {
      expect(() => new DqTestKit({ nodes })).toThrow(expect.objectContaining({ code: 'DQ_BAD_OPTION' }));
    }
    await small.close();
  });
});

it('is closed for good, twice if need be', async () => {
  const { producer } = kit;
  await kit.close();
  await kit.close();
  await expect(producer.now(Orders, { id: 'a' })).rejects.toMatchObject({ code: 'DQ_CLOSED' });
  await expect(kit.advance(1)).rejects.toMatchObject({ code: 'DQ_CLOSED' });
});

describe('a wrong use', () => {
  it('is to move the time of nothing', async () => {
    const nothing = {
      code: 'DQ_CONFIG',
      message: expect.stringContaining('no application uses this kit'),
    };
    await expect(kit.advance('1h')).rejects.toMatchObject(nothing);
    await expect(kit.advanceTo(START)).rejects.toMatchObject(nothing);
    await expect(kit.drain()).rejects.toMatchObject(nothing);
    expect(() => kit.scheduled(Orders)).toThrow(expect.objectContaining(nothing));
  });

  it('is an option that there is not', () => {
    expect(() => new DqTestKit({ node: 1 } as object)).toThrow(
      'DQ_BAD_OPTION: there is no test kit option `node` (given 1): expected one of now, nodes, patience, polls',
    );
  });

  it('is to name as polls what is no list of tubes', () => {
    expect(() => new DqTestKit({ polls: 'outbox' as never })).toThrow(
      'DQ_BAD_OPTION: `polls` is "outbox": expected a list of tubes',
    );
    expect(() => new DqTestKit({ polls: ['a b'] })).toThrow(expect.objectContaining({ code: 'DQ_BAD_TUBE' }));
  });

  it('is to look into a cluster that there is not', () => {
    expect(kit.producer).toBeDefined();
    expect(kit.scheduled(Orders)).toEqual([]);
    expect(() => kit.scheduled(Orders, 'mails')).toThrow(
      'DQ_CONFIG: the cluster is "mails": this kit has the one without a name',
    );
  });
});
