import { describe, expect, it } from '@jest/globals';
import { DAY, KitOfTest, MINUTE, NONE, Orders, really, START } from '../../spec-support/kit-of-test.js';
import { Again, Discard } from '../api/outcome.js';
import { DqTestKit } from './dq-test-kit.js';

const test = new KitOfTest();

describe('runs', () => {
  it('of a backlog all take place in a drain, however few at once', async () => {
    let now = 0;
    let most = 0;
    const runs = await test.noting(
      async () => {
        most = Math.max(most, ++now);
        await really(0);
        now--;
      },
      { concurrency: 2 },
    );
    await test.kit.producer.addMany(
      Orders,
      Array.from({ length: 100 }, (_, i) => ({ payload: { id: String(i) }, delay: 0 })),
    );
    expect(await test.kit.drain()).toMatchObject({ started: 100, completed: 100 });
    expect(runs).toHaveLength(100);
    expect(most).toBe(2);
    expect(test.elapsed()).toBe(0);
  });

  it('are retried, and die', async () => {
    const plan = { attempts: 3, backoff: { type: 'fixed', delay: '1m', jitter: 0 } } as const;
    const runs = await test.noting(() => Promise.reject(new Error('no')), plan);
    await test.kit.producer.now(Orders, { id: 'a' });
    expect(await test.kit.drain()).toEqual({ ...NONE, started: 1, failed: 1 });
    expect(test.kit.scheduled(Orders)).toMatchObject([{ dueAt: new Date(START.getTime() + MINUTE) }]);
    expect(await test.kit.advance('1h')).toEqual({
      started: 2,
      completed: 0,
      failed: 2,
      dead: 1,
      expired: 0,
    });
    expect(runs.map(([, at]) => at)).toEqual([0, MINUTE, 2 * MINUTE]);
    expect(test.kit.scheduled(Orders)).toEqual([]);
  });

  it('wait while their tube is paused, and run when the pause ends', async () => {
    const runs = await test.noting();
    const tube = test.kit['clusters'].get(undefined)!.ledger.tube('orders');
    await test.kit.producer.delay(Orders, { id: 'a' }, '1m');
    await tube.pause(START.getTime() + 10 * DAY);
    expect(await test.kit.advance('9d')).toEqual(NONE);
    expect(await test.kit.advance('2d')).toEqual({ ...NONE, started: 1, completed: 1 });
    expect(runs[0]![1] - 10 * DAY).toBeLessThan(1_000);
    await tube.pause();
    await test.kit.producer.now(Orders, { id: 'b' });
    expect(await test.kit.advance('1h')).toEqual(NONE);
    await tube.resume();
    expect(await test.kit.advance('1s')).toEqual({ ...NONE, started: 1, completed: 1 });
  });

  it('that discard are dead at once, and those that return Again are completed', async () => {
    await test.noting(({ payload: { id } }) => (id === 'dead' ? Discard.because('gone') : Again.after('1h')));
    await test.kit.producer.now(Orders, { id: 'dead' });
    await test.kit.producer.now(Orders, { id: 'again' });
    expect(await test.kit.drain()).toEqual({ started: 2, completed: 1, failed: 1, dead: 1, expired: 0 });
    expect(await test.kit.advance('10h')).toEqual({ ...NONE, started: 10, completed: 10 });
  });

  it('are waited for as long as they really take', async () => {
    const runs = await test.noting(() => really(100));
    await test.kit.producer.now(Orders, { id: 'a' });
    await test.kit.producer.delay(Orders, { id: 'b' }, '1s');
    expect(await test.kit.advance('1s')).toMatchObject({ started: 2, completed: 2 });
    expect(runs).toEqual([
      ['a', 0],
      ['b', 1_000],
    ]);
  });

  it('that have not ended are found with the progress they reported, a second later', async () => {
    await test.kit.close();
    test.kit = new DqTestKit({ now: START, patience: 20 });
    let finish!: () => void;
    const mayEnd = new Promise<void>((resolve) => (finish = resolve));
    await test.noting((job) => {
      job.progress(0.1);
      job.progress(0.4, 'page 12 of 30');
      return mayEnd;
    });
    const receipt = await test.kit.producer.now(Orders, { id: 'a' });
    await test.kit.advance('1s');
    expect(await test.kit.producer.find(receipt)).toMatchObject({
      state: 'running',
      progress: { fraction: 0.4, note: 'page 12 of 30', at: START },
    });
    finish();
    expect(await test.kit.drain()).toMatchObject({ completed: 1 });
  });

  it('that take longer than the patience are not awaited, and counted when they end', async () => {
    await test.kit.close();
    test.kit = new DqTestKit({ now: START, patience: 20 });
    let end: () => void = () => undefined;
    await test.noting(() => new Promise<void>((resolve) => (end = resolve)));
    await test.kit.producer.now(Orders, { id: 'a' });
    expect(await test.kit.advance('5m')).toEqual({ ...NONE, started: 1 });
    end();
    expect(await test.kit.advance('1m')).toEqual({ ...NONE, completed: 1 });
  });

  it('end by their timeout, which is virtual', async () => {
    await test.kit.close();
    test.kit = new DqTestKit({ now: START, patience: 20 });
    const reasons: unknown[] = [];
    await test.noting(
      ({ signal }) =>
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            reasons.push([(signal.reason as { code: string }).code, test.elapsed()]);
            reject(signal.reason as Error);
          }),
        ),
      { timeout: '1m', attempts: 1 },
    );
    await test.kit.producer.now(Orders, { id: 'a' });
    expect(await test.kit.advance('2m')).toEqual({
      started: 1,
      completed: 0,
      failed: 1,
      dead: 1,
      expired: 0,
    });
    expect(reasons).toEqual([['DQ_TIMEOUT', MINUTE]]);
  });
});

describe('scheduled', () => {
  it('lists what waits, the soonest first, with its options', async () => {
    const options = {
      key: 'k',
      priority: 'high',
      attempts: 3,
      headers: { tenant: 'x' },
      group: 'user-17',
      backoff: { type: 'fixed', delay: 5, max: 10, jitter: 0 },
    } as const;
    await test.kit.producer.delay(Orders, { id: 'b' }, '2m', options);
    const { id } = await test.kit.producer.delay(Orders, { id: 'a' }, '1m');
    await test.kit.producer.delay('others', 'text', '1m');
    expect(test.kit.scheduled(Orders)).toEqual([
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
    expect(test.kit.scheduled('others')).toMatchObject([{ payload: 'text' }]);
    expect(test.kit.scheduled('none')).toEqual([]);
  });

  it('lists a job in its last place and form, and not what was revoked, runs or ran', async () => {
    await test.noting(({ payload: { id } }) => {
      expect(test.kit.scheduled(Orders).map(({ payload }) => payload.id)).not.toContain(id);
    });
    const { producer } = test.kit;
    await producer.delay(Orders, { id: 'moved' }, '1m', { key: 'moved' });
    await producer.reschedule({ tube: Orders, key: 'moved' }, { delay: '3m' }, { payload: { id: 'anew' } });
    await producer.delay(Orders, { id: 'old' }, '1m', { key: 'replaced' });
    await producer.delay(Orders, { id: 'new' }, '4m', { key: 'replaced' });
    await producer.revoke(await producer.delay(Orders, { id: 'revoked' }, '1m'));
    await producer.now(Orders, { id: 'done' });
    expect(await test.kit.drain()).toMatchObject({ completed: 1 });
    expect(test.kit.scheduled(Orders).map(({ payload }) => payload.id)).toEqual(['anew', 'new']);
  });

  it('lists what is due and has not been run', async () => {
    await test.noting();
    await test.kit.producer.now(Orders, { id: 'a' });
    await really(20);
    expect(test.kit.scheduled(Orders)).toMatchObject([{ payload: { id: 'a' }, dueAt: START }]);
  });
});

describe('nodes', () => {
  it('that sleep are replaced by others, a little later', async () => {
    const runs = await test.noting();
    await test.kit.producer.addMany(
      Orders,
      Array.from({ length: 30 }, (_, i) => ({ payload: { id: String(i) }, delay: '1h' })),
    );
    test.kit.sleepNode(0);
    expect(await test.kit.advance('1h')).toMatchObject({ started: 20 });
    expect(await test.kit.advance('10s')).toMatchObject({ started: 10 });
    expect(new Set(runs.map(([id]) => id)).size).toBe(30);
    test.kit.wakeNode(0);
    expect(await test.kit.advance('1h')).toEqual(NONE);
  });

  it('are written to again once they are awake', async () => {
    test.kit.sleepNode(1);
    expect(await test.kit.producer.delay(Orders, { id: 'a' }, '1h')).toMatchObject({ copies: 2 });
    test.kit.wakeNode(1);
    await test.kit.advance('2s');
    expect(await test.kit.producer.delay(Orders, { id: 'b' }, '1h')).toMatchObject({ copies: 3 });
  });

  it.each([false, true])('that are too few fail an add at once; used before: %s', async (used) => {
    if (used) await test.kit.producer.delay(Orders, { id: 'a' }, '1h');
    for (const index of [0, 1]) test.kit.sleepNode(index);
    for (let i = 0; i < 3; i++) {
      const failed = test.kit.producer.delay(Orders, { id: 'b' }, '1h');
      await expect(failed).rejects.toMatchObject({ code: 'DQ_TOO_FEW_COPIES' });
    }
    expect(test.elapsed()).toBe(0);
    for (const index of [0, 1]) test.kit.wakeNode(index);
    await test.kit.advance('2s');
    expect(await test.kit.producer.delay(Orders, { id: 'c' }, '1h')).toMatchObject({ copies: 3 });
  });

  it('are as many as configured', async () => {
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
  const { producer } = test.kit;
  await test.kit.close();
  await test.kit.close();
  await expect(producer.now(Orders, { id: 'a' })).rejects.toMatchObject({ code: 'DQ_CLOSED' });
  await expect(test.kit.advance(1)).rejects.toMatchObject({ code: 'DQ_CLOSED' });
});

describe('a wrong use', () => {
  it('is to move the time of an empty kit', async () => {
    const nothing = {
      code: 'DQ_CONFIG',
      message: expect.stringContaining('no application uses this kit'),
    };
    await expect(test.kit.advance('1h')).rejects.toMatchObject(nothing);
    await expect(test.kit.advanceTo(START)).rejects.toMatchObject(nothing);
    await expect(test.kit.drain()).rejects.toMatchObject(nothing);
    expect(() => test.kit.scheduled(Orders)).toThrow(expect.objectContaining(nothing));
  });

  it('is an unknown option', () => {
    expect(() => new DqTestKit({ node: 1 } as object)).toThrow(
      'DQ_BAD_OPTION: unknown test kit option `node` (given 1): expected one of now, nodes, patience, polls',
    );
  });

  it('is to name as polls something other than a list of tubes', () => {
    expect(() => new DqTestKit({ polls: 'outbox' as never })).toThrow(
      'DQ_BAD_OPTION: `polls` is "outbox": expected an array of tubes',
    );
    expect(() => new DqTestKit({ polls: ['a b'] })).toThrow(expect.objectContaining({ code: 'DQ_BAD_TUBE' }));
  });

  it('is to look into an unknown cluster', () => {
    expect(test.kit.producer).toBeDefined();
    expect(test.kit.scheduled(Orders)).toEqual([]);
    expect(() => test.kit.scheduled(Orders, 'mails')).toThrow(
      'DQ_CONFIG: the cluster is "mails": this kit has the unnamed one',
    );
  });
});

describe('finished', () => {
  it('resolves in the advance in which the job ends, also after weeks', async () => {
    await test.kit.consumer.consume(
      Orders,
      (_order, { attempt }) => {
        if (attempt === 1) throw new Error('no');
        return { attempt };
      },
      { keepDone: {}, backoff: { type: 'fixed', delay: '1h', jitter: 0 } },
    );
    const { producer } = test.kit;
    const receipt = await producer.delay(Orders, { id: 'a' }, '30d');
    const call = producer.finished(receipt, { timeout: '60d' });
    await test.kit.advance('31d');
    const { id } = receipt;
    const end = {
      outcome: 'done',
      id,
      tube: 'orders',
      attempt: 2,
      endedAt: expect.any(Date),
      result: { attempt: 2 },
    };
    expect(await call).toEqual(end);
    expect(await producer.finished({ tube: Orders, id })).toEqual(end);
  });

  it('resolves with a revoke at once, and rejects at its timeout in the time of the kit', async () => {
    await test.noting();
    const { producer } = test.kit;
    const [one, other] = await Promise.all(['a', 'b'].map((id) => producer.delay(Orders, { id }, '1d')));
    const revoked = producer.finished(one!);
    const late = expect(producer.finished(other!)).rejects.toMatchObject({ code: 'DQ_NOT_FINISHED' });
    await producer.revoke(one!);
    expect(await revoked).toMatchObject({ outcome: 'revoked' });
    await test.kit.advance('1m');
    await late;
    await expect(producer.finished({ tube: Orders, key: 'nobody' })).rejects.toMatchObject({
      code: 'DQ_UNKNOWN_JOB',
    });
  });
});
