import { describe, expect, it } from '@jest/globals';
import { DqError } from '../errors.js';
import { failure } from '../../spec-support/producing.js';
import { VirtualClock } from 'nest-handlers/testing';
import { Retries, type PatientCall, type SharedPatience } from './retries.js';

const DOWN = new DqError('DQ_LEDGER_DOWN', 'nothing was stored: Redis is not connected');

function setUp() {
  const clock = new VirtualClock();
  const retries = new Retries(clock);
  const call = (more: Partial<PatientCall> = {}): PatientCall => ({
    patience: 5_000,
    ...more,
  });
  return { clock, retries, call };
}

describe('a call that is retried', () => {
  it('returns its final result', async () => {
    const { clock, retries, call } = setUp();
    let tries = 0;
    const result = retries.run(call(), async () => {
      if (++tries < 4) throw DOWN;
      return 'done';
    });
    await clock.advance(1_000);
    expect([await result, tries]).toEqual(['done', 4]);
  });

  it('costs no timer when it succeeds at once', async () => {
    const { clock, retries, call } = setUp();
    expect(await retries.run(call(), async () => 'done')).toBe('done');
    expect(clock.nextTimer).toBe(Infinity);
  });

  it.each([
    ['uncertain', new DqError('DQ_TOO_FEW_COPIES', 'the job may still run', { indeterminate: true })],
    ['about the call itself', new DqError('DQ_DUPLICATE', 'the key is taken')],
    ['none of ours', new Error('a bug')],
  ])('is not retried where its failure is %s', async (_what, error) => {
    const { retries, call } = setUp();
    let tries = 0;
    const result = retries.run(call(), async () => {
      tries++;
      throw error;
    });
    await expect(result).rejects.toBe(error);
    expect(tries).toBe(1);
  });

  it('may be retried, whatever its outcome, where that makes no difference', async () => {
    const { clock, retries, call } = setUp();
    const unknown = new DqError('DQ_LEDGER_DOWN', 'Redis did not answer', { indeterminate: true });
    let tries = 0;
    const result = retries.run(call({ repeatable: true }), async () => {
      if (++tries < 2) throw unknown;
      return 'done';
    });
    await clock.advance(1_000);
    expect(await result).toBe('done');
  });

  it('is not retried without patience', async () => {
    const { retries, call } = setUp();
    await expect(retries.run(call({ patience: 0 }), () => Promise.reject(DOWN))).rejects.toBe(DOWN);
  });

  it('says in its last error how often and how long it was tried, and keeps the facts of that error', async () => {
    const { clock, retries, call } = setUp();
    const cause = new Error('refused');
    const few = new DqError('DQ_TOO_FEW_COPIES', 'stored on 0 of 3 nodes', {
      cause,
      nodes: { 'n0:1': 'away' },
    });
    const result = failure(retries.run(call(), () => Promise.reject(few)));
    await clock.advance(5_000);
    const error = await result;
    expect(error).toMatchObject({
      code: 'DQ_TOO_FEW_COPIES',
      indeterminate: false,
      cause,
      nodes: { 'n0:1': 'away' },
    });
    expect(error.message).toMatch(/^DQ_TOO_FEW_COPIES: stored on 0 of 3 nodes; tried \d\d times in 5\.0 s$/);
    expect(clock.nextTimer).toBe(Infinity);
  });

  it('has as much time as those with which it came, until one of them goes well', async () => {
    const { clock, retries, call } = setUp();
    const together: SharedPatience = { failingSince: undefined };
    const fails = () => failure(retries.run(call({ together }), () => Promise.reject(DOWN)));
    const first = fails();
    await clock.advance(4_000);
    const second = fails();
    await clock.advance(1_000);
    await Promise.all([first, second]);
    expect((await fails()).message).not.toContain('tried');
    together.failingSince = undefined;
    const third = fails();
    await clock.advance(5_000);
    expect((await third).message).toContain('in 5.0 s');
  });

  it('fails when the module is closed, and leaves nothing behind', async () => {
    const { clock, retries, call } = setUp();
    const result = failure(retries.run(call(), () => Promise.reject(DOWN)));
    await clock.advance(10);
    retries.close();
    expect(await result).toMatchObject({ code: 'DQ_CLOSED', indeterminate: false });
    const late = failure(retries.run(call(), () => Promise.reject(DOWN)));
    expect((await late).code).toBe('DQ_CLOSED');
    expect(clock.nextTimer).toBe(Infinity);
  });
});

describe('calls that wait for their next try', () => {
  it('are retried a few at a time while they fail, and more and more when they succeed', async () => {
    const { clock, retries, call } = setUp();
    let [down, underWay, most] = [true, 0, 0];
    let succeeded = 0;
    const attempts = Array.from({ length: 2_000 }, () =>
      retries.again(DOWN, call({ patience: 60_000 }), async () => {
        most = Math.max(most, ++underWay);
        await new Promise<void>((resolve) => clock.after(10, resolve));
        underWay--;
        if (down) throw DOWN;
        succeeded++;
      }),
    );
    await clock.advance(5_000);
    expect([most, succeeded]).toEqual([16, 0]);
    down = false;
    await clock.advance(1_000);
    await Promise.all(attempts);
    expect(most).toBe(512);
    expect(succeeded).toBe(2_000);
  });

  it('wait for their turn while others succeed, and only those whose own try then fails are given up', async () => {
    const { clock, retries, call } = setUp();
    // Each takes a second, and there are more than may run at once.
    const slow = async () => new Promise<void>((resolve) => clock.after(1_000, resolve));
    const results = Array.from({ length: 6_000 }, () => retries.again(DOWN, call({ patience: 2_000 }), slow));
    const never = failure(retries.again(DOWN, call({ patience: 2_000 }), () => Promise.reject(DOWN)));
    await clock.advance(25_000);
    await Promise.all(results);
    expect((await never).message).toContain('tried');
    expect(clock.nextTimer).toBe(Infinity);
  });

  it('are bounded in number and size: one more fails, and says that nothing was stored', async () => {
    const { clock, retries, call } = setUp();
    const half = 32 * 1024 * 1024;
    const waiting = [1, 2].map(() =>
      failure(retries.again(DOWN, call({ bytes: half }), () => Promise.reject(DOWN))),
    );
    const large = await failure(retries.again(DOWN, call({ bytes: 1 }), () => Promise.reject(DOWN)));
    expect(large).toMatchObject({ code: 'DQ_OVERLOADED', indeterminate: false });
    expect(large.message).toContain('2 calls with 67108864 bytes are already waiting for servers');
    expect(large.message).toMatch(/so this one fails: nothing was stored: Redis is not connected$/);
    for (let i = 2; i < 50_000; i++) {
      waiting.push(retries.again(DOWN, call(), () => Promise.reject(DOWN)).catch((error: DqError) => error));
    }
    expect((await failure(retries.again(DOWN, call(), () => Promise.reject(DOWN)))).code).toBe(
      'DQ_OVERLOADED',
    );
    retries.close();
    await Promise.all(waiting);
    expect(clock.nextTimer).toBe(Infinity);
  });
});
