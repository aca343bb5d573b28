import { describe, expect, it } from '@jest/globals';
import { embedded, failure } from '../../spec-support/producing.js';
import { ID, KEY } from '../../spec-support/keyed-job.js';

const MINUTE = 60_000;

describe('debounce', () => {
  const BURST = { key: 'k', wait: '10s', max: '25s' } as const;

  it('runs the last of a burst `wait` after the last call', async () => {
    const { producer, clock, payloads, copies } = await embedded();
    const start = clock.wall();
    const first = await producer.debounce('t', 'first', BURST);
    expect([first.status, first.dueAt]).toEqual(['added', new Date(start + 10_000)]);
    await clock.advance(9_000);
    const second = await producer.debounce('t', 'second', { ...BURST, priority: 'high' });
    expect([second.status, second.dueAt]).toEqual(['replaced', new Date(start + 19_000)]);
    expect(second.id).toBe(first.id);
    await clock.advance(0);
    expect(await payloads()).toEqual(['second', 'second', 'second']);
    expect((await copies())[0]!.header.priority).toBe(0);
  });

  it('delays a continuing burst at most for `max`', async () => {
    const { producer, clock } = await embedded();
    const start = clock.wall();
    const due: number[] = [];
    for (let i = 0; i < 4; i++) {
      const { dueAt } = await producer.debounce('t', i, BURST);
      due.push(dueAt.getTime() - start);
      await clock.advance(8_000);
    }
    expect(due).toEqual([10_000, 18_000, 25_000, 25_000]);
    // Nobody has run it yet, 7 s after it was due, and it isn't delayed further.
    const { dueAt } = await producer.debounce('t', 'late', BURST);
    expect(dueAt.getTime() - start).toBe(32_000);
  });

  it('delays a burst for any time without `max`', async () => {
    const { producer, clock } = await embedded();
    const start = clock.wall();
    for (let i = 0; i < 10; i++) {
      await producer.debounce('t', i, { key: 'k', wait: '10s' });
      await clock.advance(8_000);
    }
    expect(await producer.find(KEY)).toMatchObject({ dueAt: new Date(start + 82_000) });
  });

  it('starts a new burst during a run, whose job waits for the end of the run', async () => {
    const { producer, clock, claim, run, copies } = await embedded();
    await producer.debounce('t', 1, BURST);
    await clock.advance(10_000);
    const [primary] = await copies();
    const { finish } = await run(primary!);
    const receipt = await producer.debounce('t', 2, BURST);
    expect(receipt).toMatchObject({ status: 'replaced', dueAt: new Date(clock.wall() + 10_000) });
    await clock.advance(10_000);
    const newer = (await copies()).find(({ payload, header }) => payload === '2' && header.index === 0);
    expect(await claim(newer!)).toMatchObject({ kind: 'busy' });
    expect(await finish('done')).not.toBe('lost');
    expect(await run(newer!)).toMatchObject({ attempt: 1 });
  });

  it('starts a new burst while the job waits for a retry', async () => {
    const { producer, clock, run, copies } = await embedded();
    await producer.debounce('t', 1, BURST);
    await clock.advance(10_000);
    const { finish } = await run((await copies())[0]!);
    await finish('retry', { due: clock.wall() + 10 * MINUTE });
    await clock.advance(5 * MINUTE);
    const { dueAt } = await producer.debounce('t', 2, BURST);
    expect(dueAt).toEqual(new Date(clock.wall() + 10_000));
    expect(await producer.find(KEY)).toMatchObject({ state: 'waiting', attempt: 0 });
  });

  it('leaves one job after concurrent calls of several processes', async () => {
    const world = await embedded();
    const { clock, payloads } = world;
    const start = clock.wall();
    const producers = [world.producer, world.process().producer, world.process().producer];
    const calls = producers.map((producer, i) => producer.debounce('t', i, { ...BURST, patience: '5s' }));
    const receipts = await Promise.all(calls);
    expect(receipts.map(({ id }) => id)).toEqual([ID, ID, ID]);
    await clock.advance(0);
    expect(new Set(await payloads()).size).toBe(1);
    expect((await world.producer.find(KEY))!.dueAt.getTime() - start).toBeLessThanOrEqual(10_000);
  });

  it.each([
    [{ key: 'k' }, 'DQ_BAD_DURATION: `wait` is undefined'],
    [{ key: 'k', wait: '0s' }, 'DQ_BAD_OPTION: `wait` is "0s": expected a duration longer than 0'],
    [{ key: 'k', wait: '2m', max: '1m' }, 'DQ_BAD_OPTION: `max` is "1m": expected at least `wait`, 2m'],
    [{ wait: '2m' }, 'DQ_BAD_OPTION: `key` is undefined'],
    [{ key: 'k', wait: '2m', onDuplicate: 'keep' }, 'DQ_BAD_OPTION: `onDuplicate` is "keep": expected none'],
    [{ key: 'k', wait: '2m', per: '1m' }, 'DQ_BAD_OPTION: unknown job option `per`'],
    [undefined, 'DQ_BAD_OPTION: the options of debounce is undefined: expected an object with a `key`'],
  ])('rejects %j', async (options, expected) => {
    const { producer } = await embedded();
    const error = await failure(producer.debounce('t', 1, options as never));
    expect(`${error.code}: ${error.message}`).toContain(expected);
  });
});

describe('throttle', () => {
  const OFTEN = { key: 'k', per: '1m' } as const;

  it('runs the first call at once, and the later ones as one, `per` after that run began', async () => {
    const { producer, clock, run, copies, payloads } = await embedded();
    const first = await producer.throttle('t', 1, OFTEN);
    expect(first).toMatchObject({ status: 'added', dueAt: new Date(clock.wall()) });
    await clock.advance(3_000); // the consumer was busy
    const { finish } = await run((await copies())[0]!);
    const begun = clock.wall();
    await clock.advance(1_000);
    const during = await producer.throttle('t', 2, OFTEN);
    expect(during).toMatchObject({ status: 'replaced', dueAt: new Date(begun + MINUTE) });
    await finish('done');
    await clock.advance(30_000);
    const later = await producer.throttle('t', 3, OFTEN);
    expect(later).toMatchObject({ status: 'replaced', dueAt: new Date(begun + MINUTE) });
    await clock.advance(0);
    expect(await payloads()).toEqual(['3', '3', '3']);
  });

  it('runs a call at once when the last run began `per` ago', async () => {
    const { producer, clock, run, copies } = await embedded();
    await producer.throttle('t', 1, OFTEN);
    await clock.advance(1);
    await (await run((await copies())[0]!)).finish('done');
    await clock.advance(30_000);
    const second = await producer.throttle('t', 2, OFTEN);
    expect(second.dueAt.getTime() - clock.wall()).toBe(30_000);
    await producer.revoke(second);
    await clock.advance(30_000);
    const third = await producer.throttle('t', 3, OFTEN);
    expect(third.dueAt).toEqual(new Date(clock.wall()));
  });

  it('lets a waiting job that has not run stay due', async () => {
    const { producer, clock } = await embedded();
    await producer.throttle('t', 1, OFTEN);
    await clock.advance(10_000);
    const { dueAt } = await producer.throttle('t', 2, OFTEN);
    expect(dueAt).toEqual(new Date(clock.wall()));
  });

  it('keeps the backoff of a job that waits for a retry', async () => {
    const { producer, clock, run, copies } = await embedded();
    await producer.throttle('t', 1, OFTEN);
    await clock.advance(1);
    const { finish } = await run((await copies())[0]!);
    const due = clock.wall() + 5 * MINUTE;
    await finish('retry', { due });
    expect(await producer.throttle('t', 2, OFTEN)).toMatchObject({ dueAt: new Date(due) });
  });

  it('adds one job for concurrent calls of several processes', async () => {
    const world = await embedded();
    const { clock, run, copies } = world;
    const producers = [world.producer, world.process().producer, world.process().producer];
    await Promise.all(
      producers.map((producer, i) => producer.throttle('t', i, { ...OFTEN, patience: '5s' })),
    );
    await clock.advance(1);
    const stored = await copies();
    expect(new Set(stored.map(({ payload }) => payload)).size).toBe(1);
    const begun = clock.wall();
    await (await run(stored[0]!)).finish('done');
    const receipts = await Promise.all(producers.map((producer, i) => producer.throttle('t', i, OFTEN)));
    for (const { dueAt } of receipts) expect(dueAt).toEqual(new Date(begun + MINUTE));
  });

  it.each([
    [{ key: 'k', per: '2m' }, 'DQ_BAD_OPTION: `per` is "2m": expected at most 60000 ms'],
    [{ key: 'k' }, 'DQ_BAD_DURATION: `per` is undefined'],
    [{ key: 'k', per: '1m', allowPast: true }, 'DQ_BAD_OPTION: `allowPast` is true: expected none'],
  ])('rejects %j', async (options, expected) => {
    const { producer } = await embedded();
    const error = await failure(producer.throttle('t', 1, options as never));
    expect(`${error.code}: ${error.message}`).toContain(expected);
  });
});
