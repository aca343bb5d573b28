import { describe, expect, it } from '@jest/globals';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { HANDLING } from '../../spec-support/handling.js';
import { embedded, LEDGER_SETTINGS } from '../../spec-support/producing.js';
import { defineTube, type StoredTube } from '../api/tube.js';
import { DEFAULT_LOG_LEVELS } from '../nest/log-levels.js';
import { LogReport } from '../nest/log-report.js';
import { ClusterConsumer } from '../consumer/consumer.js';
import { LOCK_TIME_MS } from './locks.js';

/** Milliseconds: much longer than the ledger remembers what is over everywhere. */
const LONG = 10 * LEDGER_SETTINGS.doneTtl;
const TUBE = 'order.remind' as StoredTube;
const Shared = defineTube<number>(TUBE, { wire: 'go-queue' });

/** A process that adds jobs to the tube, and handles them. */
async function handling(nodes: number) {
  const world = await embedded(nodes);
  const { clock, memory, parts, producer } = world;
  const report = new LogReport(new CollectingLogger(), DEFAULT_LOG_LEVELS, clock);
  const consumer = new ClusterConsumer(HANDLING, { ...parts, report });
  consumer.start();
  const ran: number[] = [];
  await consumer.consume(Shared, (payload) => void ran.push(payload));
  await clock.advance(1_000);
  const known = async (id: string) => (await memory.tube(TUBE).find([id]))[0];
  const add = (n: number) => producer.delay(Shared, n, '1s');
  return Object.assign(world, { ran, known, add });
}

describe('the ledger, of a job that go-queue could run as well', () => {
  it('soon forgets it when it ran, and each node has deleted its copy', async () => {
    const { clock, add, ran, known, after } = await handling(3);
    const { id } = await after(20, add(1));
    await clock.advance(5_000);
    expect([ran, await known(id)]).toEqual([[1], expect.objectContaining({ state: 'done' })]);
    await clock.advance(70_000 + LEDGER_SETTINGS.doneTtl);
    expect(await known(id)).toBeUndefined();
  });

  it('knows it while a node is away that may have a copy', async () => {
    const { clock, add, ran, known, after, cut, restore } = await handling(3);
    const { id } = await after(20, add(1));
    await cut(2);
    await clock.advance(LONG);
    expect([ran, await known(id)]).toEqual([[1], expect.objectContaining({ state: 'done' })]);
    await restore();
    await clock.advance(70_000 + LEDGER_SETTINGS.doneTtl);
    expect([ran, await known(id)]).toEqual([[1], undefined]);
  });

  it('is known where go-queue picks three of more nodes, since nobody can know which', async () => {
    const { clock, add, ran, known, after } = await handling(4);
    const { id } = await after(20, add(1));
    await clock.advance(LONG);
    expect([ran, await known(id)]).toEqual([[1], expect.objectContaining({ state: 'done' })]);
  });
});

describe('a revoke of a job that go-queue could run as well', () => {
  it('is soon forgotten when each node has deleted its copy', async () => {
    const { clock, producer, known, after } = await handling(3);
    const receipt = await after(20, producer.delay(Shared, 1, '1h'));
    expect(await after(20, producer.revoke(receipt))).toBe('revoked');
    await clock.advance(70_000 + LEDGER_SETTINGS.doneTtl);
    expect(await known(receipt.id)).toBeUndefined();
  });

  it('holds for a copy that its reference does not name, on a node that is away for longer than the lock lives', async () => {
    const { clock, producer, ran, claim, copies, after, cut, restore } = await handling(3);
    const receipt = await after(20, producer.delay(Shared, 1, '10s'));
    const stored = await copies(TUBE);
    const ids = receipt.goQueueIds!.split(',').filter((each) => !each.startsWith('n0:1/'));
    await cut(0);
    expect(await after(20, producer.revoke({ ref: ids.join() }))).toBe('revoked');
    await clock.advance(10_000 + LOCK_TIME_MS + LEDGER_SETTINGS.doneTtl);
    expect(await claim(stored[0]!, 10, TUBE)).toEqual({ kind: 'gone' });
    await restore();
    expect([ran, await copies(TUBE)]).toEqual([[], []]);
  });
});
