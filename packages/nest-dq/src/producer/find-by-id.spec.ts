import { describe, expect, it } from '@jest/globals';
import type { JobTarget } from '../copies/job-ref.js';
import { parseRef } from '../copies/job-ref.js';
import { embedded, failure } from '../../spec-support/producing.js';

/** A process whose plain jobs are indexed. */
async function indexing() {
  const world = await embedded();
  return Object.assign(world, world.process({ mostIndexed: 100 }));
}

const placesOf = (receipt: { ref: string }): JobTarget['places'] => parseRef(receipt as never, '').places;

describe('an id with its tube', () => {
  it('finds a plain job that this process has just added, and whose first run has not begun', async () => {
    const { producer, after, clock } = await indexing();
    const receipt = await producer.delay('t', 1, '1m');
    const { id, ref, dueAt } = receipt;
    const view = await after(10, producer.find({ tube: 't', id }));
    expect(view).toEqual({ state: 'waiting', id, ref, tube: 't', dueAt, attempt: 0 });
    await clock.advance(1_000);
    expect(await producer.find({ tube: 't', id })).toEqual(view);
  });

  it('revokes a plain job that waits, and deletes its copies', async () => {
    const { producer, copies, after, ledger } = await indexing();
    const receipt = await producer.delay('t', 1, '1m');
    expect(await after(10, producer.revoke({ tube: 't', id: receipt.id }))).toBe('revoked');
    expect(await copies()).toEqual([]);
    expect(ledger.revokes).toEqual([
      expect.objectContaining({ born: 0, due: receipt.dueAt.getTime(), owed: { mask: 7, unknown: false } }),
    ]);
    expect(await producer.revoke(receipt)).toBe('revoked');
    expect(await producer.find({ tube: 't', id: receipt.id })).toMatchObject({ state: 'revoked' });
  });

  it('moves a plain job, and finds it at its new places', async () => {
    const { producer, copies, after } = await indexing();
    const receipt = await producer.delay('t', 'payload', '1m');
    const ref = { tube: 't', id: receipt.id };
    expect(await after(10, producer.reschedule(ref, { delay: '2m' }))).toBe('rescheduled');
    const view = await producer.find(ref);
    expect(view!.dueAt.getTime() - receipt.dueAt.getTime()).toBe(60_000);
    const stored = await copies();
    expect(stored.map(({ payload }) => payload)).toEqual(Array(3).fill('payload'));
    expect(placesOf(view!)).toHaveLength(3);
    expect(placesOf(view!)).not.toEqual(placesOf(receipt));
    expect(await producer.revoke(ref)).toBe('revoked');
    expect(await copies()).toEqual([]);
  });

  it('finds and revokes a job with a key', async () => {
    const { producer } = await indexing();
    const { id } = await producer.delay('t', 1, '1m', { key: 'k' });
    expect(await producer.find({ tube: 't', id })).toMatchObject({ state: 'waiting', id, key: 'k' });
    expect(await producer.revoke({ tube: 't', id })).toBe('revoked');
    expect(await producer.find({ tube: 't', key: 'k' })).toMatchObject({ state: 'revoked' });
  });

  it('of a job that runs or is over returns what the ledger knows', async () => {
    const { producer, copies, run, memory, clock } = await indexing();
    const { id } = await producer.now('t', 1);
    const ref = { tube: 't', id };
    const [primary] = await copies();
    const { finish } = await run(primary!);
    expect(await producer.find(ref)).toMatchObject({ state: 'running' });
    expect(await producer.revoke(ref)).toBe('running');
    await finish('retry');
    expect(await producer.find(ref)).toMatchObject({ state: 'revoked' });
    // Nobody knew where its copies were, so the revoke is remembered until none can come.
    const record = memory.tube('t').records.byId.get(id)!;
    expect(record.expiresAt - clock.wall()).toBeGreaterThan(600_000_000);
  });

  it('of an unknown job finds nothing, and writes nothing', async () => {
    const { producer, memory, deadLetters } = await indexing();
    const ref = { tube: 't', id: '01JD2Q7Z0000000000000000AA' };
    expect(await producer.find(ref)).toBeUndefined();
    expect(await producer.revoke(ref)).toBe('unknown');
    expect(await producer.reschedule(ref, { delay: 1 })).toBe('unknown');
    expect(await deadLetters.get(ref)).toBeUndefined();
    expect(await deadLetters.discard(ref)).toBe('unknown');
    expect(memory.tube('t').records.byId.size).toBe(0);
  });

  it('is taken by the producer of one tube', async () => {
    const { producer, after } = await indexing();
    const orders = producer.tube('t');
    const { id } = await orders.delay(1, '1m');
    expect(await after(10, orders.find({ id }))).toMatchObject({ id });
  });

  it('finds nothing while the ledger is away', async () => {
    const { producer, ledger, after } = await indexing();
    const { id } = await producer.delay('t', 1, '1m');
    ledger.down = true;
    const error = await failure(after(1_000, producer.find({ tube: 't', id })));
    expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: false });
  });
});
