import { describe, expect, it } from '@jest/globals';
import { embedded, failure } from '../../spec-support/producing.js';
import { dated, schemaBy } from '../../spec-support/schemas.js';
import { defineTube } from '../api/tube.js';

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
      ...(await orders.addMany([{ payload: { id: 'many' }, delay: 7_000 }])),
      ...(await orders.addMany([{ payload: { id: 'times' }, at: now + 9_000 }])),
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

  it('takes a receipt, a view and their string as the producer does', async () => {
    const { producer, clock } = await embedded(3, 'app.');
    const orders = producer.tube(Orders);
    const receipt = await orders.delay({ id: '1' }, '1m');
    const view = await orders.find(receipt);
    expect(view).toEqual(await producer.find(receipt));
    expect(view).toMatchObject({ state: 'waiting', id: receipt.id });
    expect(await orders.reschedule(receipt.ref, { delay: '2m' }, { payload: { id: '2' } })).toBe(
      'rescheduled',
    );
    expect(await orders.find(view!)).toMatchObject({ dueAt: new Date(clock.wall() + 120_000) });
    expect(await orders.revoke(JSON.parse(JSON.stringify(receipt)) as typeof receipt)).toBe('revoked');
  });

  it('finds that very job by its receipt, even where its key has another by now', async () => {
    const { producer, clock } = await embedded();
    const orders = producer.tube(Orders);
    const old = await orders.delay({ id: '1' }, '1m', { key: '1' });
    await clock.advance(1);
    await orders.delay({ id: '2' }, '1m', { key: '1' });
    expect(await orders.find(old)).toBeUndefined();
    expect(await orders.find({ key: '1' })).toMatchObject({ state: 'waiting' });
  });

  it('refuses a reference to a job of another tube, and an invalid one', async () => {
    const { producer, ledger } = await embedded(3, 'app.');
    const orders = producer.tube(Orders);
    const receipt = await producer.now('mail', {});
    for (const call of [
      () => orders.find(receipt),
      () => orders.revoke(receipt.ref),
      () => orders.reschedule(receipt, { delay: 1 }),
    ]) {
      const error = await failure(call());
      expect(error.code).toBe('DQ_BAD_REF');
      expect(error.message).toMatch(/to a job of "app\.mail": expected a job of "app\.t"/);
    }
    for (const none of [undefined, null, 5, {}, '42', { id: '4 2' }, { key: undefined }]) {
      expect(await failure(orders.revoke(none as unknown as { key: string }))).toMatchObject({
        code: 'DQ_BAD_REF',
      });
    }
    expect(ledger.asked).toEqual([]);
  });

  it('checks the payload of a move by the schema of its tube, even where a receipt names the job', async () => {
    const { producer } = await embedded();
    const reminders = producer.tube(defineTube('t', { schema: schemaBy(dated) }));
    const receipt = await reminders.delay({ at: 'noon' }, '1m');
    const move = (payload: unknown) => reminders.reschedule(receipt.ref, { delay: 1 }, { payload });
    expect((await failure(move({ at: 5 }))).code).toBe('DQ_BAD_PAYLOAD');
    expect(await move({ at: 'one' })).toBe('rescheduled');
  });

  it('refuses an invalid tube where it is created', async () => {
    const { producer } = await embedded();
    expect(() => producer.tube('a b')).toThrow(expect.objectContaining({ code: 'DQ_BAD_TUBE' }));
  });

  it('throws the errors of the producer', async () => {
    const { producer } = await embedded();
    const orders = producer.tube(Orders);
    expect(await failure(orders.delay({ id: '1' }, '5' as '5s'))).toMatchObject({ code: 'DQ_BAD_DURATION' });
    expect(await failure(orders.revoke({ key: '' }))).toMatchObject({ code: 'DQ_BAD_REF' });
  });
});
