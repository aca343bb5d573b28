// Somebody has read the copies of a job, and stores them again when the job is over: as a node does that lost its disk and found it again.
import { describe, expect, it } from '@jest/globals';
import { HANDLING } from '../../spec-support/handling.js';
import { embedded } from '../../spec-support/producing.js';
import type { StoredTube } from '../api/tube.js';
import type { Reserved } from '../beanstalk/connection.js';
import { DEFAULT_LOG_LEVELS } from '../nest/log-levels.js';
import { LogReport } from '../nest/log-report.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { keptAfter } from '../ledger/ledger.js';
import { ClusterConsumer } from './consumer.js';

const TUBE = 'order.cancel' as StoredTube;
const MINUTE = 60_000;
const SHORT = { lease: 15_000, doneTtl: MINUTE, staleAfter: 4 * MINUTE, mostIndexed: 0 };
const UNTIL_STALE = { ...SHORT, doneTtl: keptAfter(SHORT) };

/** A cluster with a consumer, and somebody who reaches a node. */
async function attacked(settings: typeof SHORT) {
  const world = await embedded(3, '', settings);
  const { clock, nodes, parts, producer, after } = world;
  const report = new LogReport(new CollectingLogger(), DEFAULT_LOG_LEVELS, clock);
  const consumer = new ClusterConsumer(HANDLING, { ...parts, report });
  consumer.start();
  const ran: unknown[] = [];
  await consumer.consume(TUBE, (payload) => void ran.push(payload));
  await clock.advance(1_000);

  const lane = nodes[0]!.connectLane(() => undefined)!;
  /** All copies that lie on the first node. */
  const read = async (): Promise<Buffer[]> => {
    const bodies: Buffer[] = [];
    for (let id = 1; id < 20; id++) {
      const found = await after(
        1,
        lane.ask<Reserved | 'NOT_FOUND'>((done) => lane.peek(String(id), done)),
      );
      if (found !== 'NOT_FOUND') bodies.push(found.body);
    }
    return bodies;
  };
  const store = async (bodies: readonly Buffer[]): Promise<void> => {
    for (const body of bodies) {
      const options = { priority: 0, delay: 0, ttr: 60 };
      await after(
        1,
        lane.ask((done) => lane.put(TUBE, [body], options, done)),
      );
    }
    await clock.advance(5_000);
  };
  return { clock, producer, after, ran, read, store };
}

describe.each([
  ['is forgotten while somebody may store a copy again, it runs', SHORT, 1],
  ['is remembered until each copy would be stale, it does not run', UNTIL_STALE, 0],
])('a job whose end %s', (_, settings, runs) => {
  it('after it was revoked', async () => {
    const { clock, producer, after, ran, read, store } = await attacked(settings);
    const receipt = await after(20, producer.delay(TUBE, 'revoked', '15m'));
    const copies = await read();
    expect(copies).toHaveLength(1);
    expect(await after(20, producer.revoke(receipt))).toBe('revoked');
    await clock.advance(3 * MINUTE);
    await store(copies);
    await clock.advance(13 * MINUTE);
    expect(ran).toEqual(Array(runs).fill('revoked'));
  });

  it('after it ran', async () => {
    const { clock, producer, after, ran, read, store } = await attacked(settings);
    await after(20, producer.delay(TUBE, 'ran', '10s'));
    const copies = await read();
    await clock.advance(MINUTE);
    expect(ran).toEqual(['ran']);
    await clock.advance(2.5 * MINUTE);
    await store(copies);
    expect(ran).toEqual(Array(1 + runs).fill('ran'));
  });

  it('after it was moved to an earlier time, and ran', async () => {
    const { clock, producer, after, ran, read, store } = await attacked(settings);
    const receipt = await after(20, producer.delay(TUBE, 'moved', '6m'));
    const copies = await read();
    expect(await after(20, producer.reschedule(receipt, { delay: '10s' }))).toBe('rescheduled');
    await clock.advance(4 * MINUTE);
    expect(ran).toEqual(['moved']);
    await store(copies);
    await clock.advance(3 * MINUTE);
    expect(ran).toEqual(Array(1 + runs).fill('moved'));
  });
});

it('does not run, and becomes a dead letter, where nothing is known of it and it is stale', async () => {
  const { clock, producer, after, ran, read, store } = await attacked(UNTIL_STALE);
  await after(20, producer.delay(TUBE, 'ran', '10s'));
  const copies = await read();
  await clock.advance(MINUTE);
  expect(ran).toEqual(['ran']);
  await clock.advance(keptAfter(SHORT) + MINUTE); // by now its end is forgotten
  await store(copies);
  expect(ran).toEqual(['ran']);
});
