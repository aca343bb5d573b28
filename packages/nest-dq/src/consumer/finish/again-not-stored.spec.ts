import { describe, expect, it } from '@jest/globals';
import { parseLocation } from '../../copies/location.js';
import { Again } from '../../api/outcome.js';
import { NONE, clock, consumingInEachTest, world } from '../../../spec-support/consuming.js';
import { noting, placesOf, type Seen } from '../../../spec-support/noting.js';

consumingInEachTest();

describe('Again, where too few nodes can store it', () => {
  /** But for the one that has the copy in hand. */
  const closeOthers = (ref: string) => {
    const { endpoint } = parseLocation(placesOf(ref).find(({ index }) => index === 0)!.location)!;
    world.servers.forEach((server, i) => endpoint === `n${i}` || server.close());
  };

  it('waits with the copies that it has: a completed run does not run again', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    await worker.consume(
      noting(clock, runs, (run, { ref }) => {
        if (run > 1) return undefined;
        closeOthers(ref);
        return Again.after('10s');
      }),
    );
    const { dueAt } = await world.add(1_000, { key: 'user 5' });
    await clock.advance(5_000);
    expect(await world.producer.find({ tube: 'tube', key: 'user 5' })).toMatchObject({
      state: 'waiting',
      attempt: 0,
    });
    await clock.advance(60_000);
    expect(runs.map(({ at, attempt }) => [at - dueAt.getTime(), attempt])).toEqual([
      [0, 1],
      [10_000, 1],
    ]);
    expect(runs[1]!.lateness).toBe(0);
    expect(worker.reports).toEqual([expect.stringMatching(/^not stored stored on [01] of 3/)]);
    expect(await world.copies()).toEqual(NONE);
  });

  it('keeps retrying, with fresh attempts each time, and uses none up', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    await worker.consume(
      noting(clock, runs, (run, { ref }) => {
        if (run === 1) closeOthers(ref);
        return run < 5 ? Again.after('10s') : undefined;
      }),
      { attempts: 1 },
    );
    const { dueAt } = await world.add(1_000);
    await clock.advance(60_000);
    expect(runs.map(({ at, attempt }) => [at - dueAt.getTime(), attempt])).toEqual(
      [0, 1, 2, 3, 4].map((run) => [run * 10_000, 1]),
    );
    expect(await world.copies()).toEqual(NONE);
  });

  it('leaves nothing of what was stored of it', async () => {
    const worker = world.process();
    const runs: Seen[] = [];
    const put = worker.cluster.put.bind(worker.cluster);
    worker.cluster.put = (job, done) =>
      put(job, (result) =>
        done({ ...result, stored: [result.stored[0]!], doubtful: result.stored.slice(1) }),
      );
    await worker.consume(noting(clock, runs, (run) => (run === 1 ? Again.after('10s') : undefined)));
    await world.add(1_000);
    await clock.advance(2_000);
    await world.settle();
    expect((await world.copies()).delayed).toBe(3); // the primary, and its backups, which sleep for their 2 s
    await clock.advance(60_000);
    expect([runs.length, await world.copies()]).toEqual([2, NONE]);
  });

  it('is over where the job is revoked meanwhile', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    await worker.consume(
      noting(clock, runs, (_, { ref }) => {
        closeOthers(ref);
        return Again.after('10s');
      }),
    );
    const receipt = await world.add(1_000);
    await clock.advance(5_000);
    const revoked = world.producer.revoke(receipt);
    await clock.advance(60_000);
    expect(await revoked).toBe('revoked');
    expect(runs).toHaveLength(1);
    expect(await world.copies()).toEqual(NONE);
  });

  it('is not waited for by a drain for longer than half a second, and not run again by it', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    const consumer = await worker.consume(noting(clock, runs, () => Again.after('10s')));
    worker.cluster.put = () => undefined; // no node answers
    const { dueAt } = await world.add(0);
    expect(await world.stopped(consumer, 5_000)).toBeLessThan(600);
    await world.process().consume(noting(clock, runs, () => undefined));
    await clock.advance(60_000);
    expect(runs.map(({ at, attempt }) => [at - dueAt.getTime(), attempt])).toEqual([
      [0, 1],
      [10_000, 1],
    ]);
    expect(await world.copies()).toEqual(NONE);
  });
});
