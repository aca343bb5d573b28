import { describe, expect, it } from '@jest/globals';
import { embedded, failure } from '../testing/producing.js';
import { defineTube } from '../tube.js';

const Orders = defineTube<{ id: string }>('t');

describe('producer.tube', () => {
  it('schedules, finds, moves and revokes in its tube', async () => {
    const { clock, producer, payloads } = await embedded();
    const orders = producer.tube(Orders);
    const now = clock.wall();
    const key = '1';
    const added = [
      await orders.now({ id: 'now' }),
      await orders.delay({ id: 'delay' }, '1m', { key }),
      await orders.at({ id: 'at' }, now + 5_000, { headers: { tenant: 'x' } }),
      ...(await orders.delayMany([{ payload: { id: 'many' }, delay: 7_000 }])).map(({ receipt }) => receipt!),
      ...(await orders.atMany([{ payload: { id: 'times' }, at: now + 9_000 }])).map(
        ({ receipt }) => receipt!,
      ),
    ];
    expect(added.map(({ tube, dueAt }) => [tube, dueAt.getTime() - now])).toEqual([
      ['t', 0],
      ['t', 60_000],
      ['t', 5_000],
      ['t', 7_000],
      ['t', 9_000],
    ]);
    expect(await orders.find({ key })).toMatchObject({ state: 'waiting', dueAt: new Date(now + 60_000) });
    expect(await orders.reschedule({ key }, { delay: '2m' }, { payload: { id: 'moved' } })).toBe(
      'rescheduled',
    );
    expect(await orders.find({ key })).toMatchObject({ dueAt: new Date(now + 120_000) });
    expect(await orders.reschedule({ key }, now - 5_000, { allowPast: true })).toBe('rescheduled');
    expect(await orders.revoke({ key }, { abort: true })).toBe('revoked');
    const stored = new Set((await payloads()).map((payload) => (JSON.parse(payload) as { id: string }).id));
    expect(stored).toEqual(new Set(['now', 'at', 'many', 'times']));
  });

  it('refuses what is no tube where it is made', async () => {
    const { producer } = await embedded();
    expect(() => producer.tube('a b')).toThrow(expect.objectContaining({ code: 'DQ_BAD_TUBE' }));
  });

  it('gives the errors of the producer', async () => {
    const { producer } = await embedded();
    const orders = producer.tube(Orders);
    expect(await failure(orders.delay({ id: '1' }, '5'))).toMatchObject({ code: 'DQ_BAD_DURATION' });
    expect(await failure(orders.revoke({ key: '' }))).toMatchObject({ code: 'DQ_BAD_REF' });
  });
});
