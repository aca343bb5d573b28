import { describe, expect, it } from '@jest/globals';
import { DqModule, DqProducer } from 'nest-dq';
import { closeApps, handlerOf, logger, Noted, start } from '../../spec-support/joint.js';
import { KqPusher } from '../pusher/pusher.js';

closeApps();

describe('a push with a delay', () => {
  it('is pushed when it is due, with all of its parts, and not before', async () => {
    const noted = new Noted(() => undefined);
    const app = await start([handlerOf(noted)]);
    const from = Date.now();
    const bytes = Buffer.from([0xff, 0x00]);
    const delayed = await app
      .get(KqPusher)
      .push(
        'orders',
        { id: 7, text: 'größer' },
        { key: bytes, headers: { trace: 't', all: ['a', bytes] }, delay: '50ms' },
      );
    expect(delayed).toMatchObject({ topic: 'orders', job: { tube: 'kq-push', id: expect.any(String) } });
    const [run] = await noted.until(1);
    expect(run!.at).toBeGreaterThanOrEqual(from + 50);
    expect(run!.value).toEqual({ id: 7, text: 'größer' });
    expect(run!.message.keyBytes).toEqual(bytes);
    expect(run!.message.headers).toMatchObject({
      trace: Buffer.from('t'),
      all: [Buffer.from('a'), bytes],
    });
  });

  it('may be a tombstone, with a time of its own', async () => {
    const noted = new Noted(() => undefined);
    const app = await start([handlerOf(noted)]);
    await app.get(KqPusher).push('orders', null, { key: 'k', timestamp: 5_000, delay: '10ms' });
    const [run] = await noted.until(1);
    expect([run!.value, run!.message.value]).toEqual([null, null]);
    expect(run!.message).toMatchObject({ key: 'k', timestamp: 5_000 });
  });

  it('comes at an instant, and is revoked by its reference', async () => {
    const app = await start([]);
    const at = new Date(Date.now() + 3_600_000);
    const { job } = await app.get(KqPusher).push('orders', 1, { at });
    expect(job.dueAt).toEqual(at);
    await expect(app.get(DqProducer).revoke(job)).resolves.toBe('revoked');
  });

  it.each<[string, object, string]>([
    [
      'no duration',
      { delay: 'soon' },
      'KQ_BAD_MESSAGE: nest-dq cannot take a message of orders: DQ_BAD_DURATION',
    ],
    [
      'a time that is over',
      { at: new Date(0) },
      'KQ_BAD_MESSAGE: `at` is 1970-01-01T00:00:00.000Z, which is in the past: expected a time in the future, or no `at` to push immediately',
    ],
    ['both', { at: new Date(), delay: 1 }, 'KQ_BAD_MESSAGE: `at` is '],
    ['an unknown option', { delay: 1, dely: 1 }, 'KQ_BAD_MESSAGE: there is no `dely`'],
  ])('is refused with %s', async (_what, options, message) => {
    const app = await start([]);
    await expect(app.get(KqPusher).push('orders', 1, options as { delay: number })).rejects.toThrow(message);
  });

  it('is refused where a job cannot take so much', async () => {
    const app = await start([]);
    const large = 'x'.repeat(100_000);
    await expect(app.get(KqPusher).push('orders', large, { delay: 1 })).rejects.toThrow(/^KQ_TOO_LARGE: /);
  });

  it('says what to import where nest-dq is not there', async () => {
    const app = await start([], DqModule.forRoot({ logger }));
    await expect(app.get(KqPusher).push('orders', 1, { delay: 1 })).rejects.toThrow(
      "KQ_CONFIG: `delay` of a push needs nest-dq: import KqDqModule.forRoot() from 'nest-kq/dq'",
    );
  });

  it('is for one message, outside of transactions', async () => {
    const app = await start([]);
    const many = [{ value: 1, delay: 1 as never }];
    const [result] = await app.get(KqPusher).pushMany('orders', many);
    expect(result!.error!.message).toMatch('KQ_BAD_MESSAGE: `delay` and `at` work only with `push`');
  });
});
