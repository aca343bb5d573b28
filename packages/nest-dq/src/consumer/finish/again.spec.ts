import { describe, expect, it } from '@jest/globals';
import { parseRef } from '../../copies/job-ref.js';
import type { JobReceipt } from '../../api/job.js';
import { Again } from '../../api/outcome.js';
import { NONE, clock, consumingInEachTest, world } from '../../../spec-support/consuming.js';
import { noting, once, type Seen } from '../../../spec-support/noting.js';

consumingInEachTest();

describe('Again', () => {
  it.each([
    ['plain', undefined],
    ['keyed', 'user 5'],
  ])(
    'runs a %s job again at its time: the same job with a greater fence and fresh attempts',
    async (_, key) => {
      const runs: Seen[] = [];
      await world.process().consume(
        noting(clock, runs, (run) => {
          if (run === 1) throw new Error('no');
          return run === 2 ? Again.after('10s') : undefined;
        }),
        { attempts: 2, backoff: { type: 'fixed', delay: 700, jitter: 0 } },
      );
      const options = {
        ...(key === undefined ? {} : { key }),
        headers: { tenant: 'x' },
        priority: 'high',
        attempts: 3,
      } as const;
      const { id, dueAt } = await world.add(1_000, options);
      await clock.advance(1_700);
      expect(runs).toHaveLength(2);
      expect(await world.copies()).toEqual({ ...NONE, delayed: 3 });
      await clock.advance(60_000);
      const same = {
        id,
        key,
        payload: { some: 'payload' },
        headers: { tenant: 'x' },
        attempts: 3,
        lateness: 0,
      };
      const due = dueAt.getTime();
      expect(runs).toMatchObject([
        { ...same, attempt: 1, at: due },
        { ...same, attempt: 2, at: due + 700 },
        { ...same, attempt: 1, at: due + 10_700 },
      ]);
      expect(runs[1]!.fence).toBeGreaterThan(runs[0]!.fence);
      expect(runs[2]!.fence).toBeGreaterThan(runs[1]!.fence);
      expect(parseRef(runs[2]!.ref, '')).toMatchObject({
        born: parseRef(runs[0]!.ref, '').born,
        key,
        due: due + 10_700,
      });
      expect(await world.copies()).toEqual(NONE);
    },
  );

  it('at an instant runs then, thrown as well as returned; one that is over, a second after this run', async () => {
    const runs: Seen[] = [];
    const instant = clock.wall() + 30_000;
    const worker = world.process();
    await worker.consume(
      noting(clock, runs, (run) => {
        if (run === 1) throw Again.at(new Date(instant));
        return run === 2 ? Again.at(instant - 20_000) : undefined;
      }),
    );
    await world.add(1_000);
    await clock.advance(60_000);
    expect(runs.map(({ at }) => at)).toEqual([instant - 29_000, instant, instant + 1_000]);
    expect(worker.reports).toEqual(['instant over']);
    expect(await world.copies()).toEqual(NONE);
  });

  it.each([
    ['a minute ago', () => clock.wall() - 60_000],
    ['in 1970', () => new Date(0)],
  ])('at an instant %s makes no hot loop', async (_, instant) => {
    const runs: Seen[] = [];
    await world.process().consume(noting(clock, runs, () => Again.at(instant())));
    await world.add(0);
    await clock.advance(5_500);
    expect(runs).toHaveLength(6);
  });

  it('at an instant that a long handler has passed is at once, and due at that instant', async () => {
    const runs: Seen[] = [];
    const due: number[] = [];
    const worker = world.process();
    await worker.consume(
      noting(clock, runs, async (run, { dueAt }) => {
        due.push(dueAt.getTime());
        if (run === 3) return undefined;
        await new Promise<void>((resolve) => void clock.after(1_500, resolve));
        return Again.at(dueAt.getTime() + 1_000);
      }),
    );
    const { dueAt } = await world.add(0);
    await clock.advance(10_000);
    expect(runs.map(({ at }) => Math.floor((at - dueAt.getTime()) / 100))).toEqual([0, 15, 30]);
    expect(due.map((each) => each - dueAt.getTime())).toEqual([0, 1_000, 2_000]);
    expect(worker.reports).toEqual([]);
  });

  it('never uses up the attempts, and leaves nothing behind', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    await worker.consume(
      noting(clock, runs, (run) => (run < 20 ? Again.after('1s') : undefined)),
      { attempts: 1, concurrency: 1 },
    );
    await world.add(0);
    await clock.advance(30_000);
    expect(runs).toHaveLength(20);
    expect(runs.every(({ attempt }) => attempt === 1)).toBe(true);
    expect(worker.reports).toEqual([]);
    expect(await world.copies()).toEqual(NONE);
  });

  it('runs from a backup when the node of its new primary is gone', async () => {
    const runs: Seen[] = [];
    await world.process().consume(noting(clock, runs, once(Again.after('10s'))));
    await world.add(0);
    const primaries = await Promise.all(
      world.servers.map(async (server, i) => {
        const body = await world.observers[i]!.ask<{ body: Buffer } | 'NOT_FOUND'>((done) =>
          world.observers[i]!.peek('2', done),
        );
        return body !== 'NOT_FOUND' && body.body.includes('"i":0') ? server : undefined;
      }),
    );
    primaries.find((server) => server !== undefined)!.close();
    await clock.advance(15_000);
    expect(runs).toHaveLength(2);
  });

  it.each([
    ['the receipt of the add', (receipt: JobReceipt) => receipt],
    ['the ref of the first run', (_: JobReceipt, runs: Seen[]) => runs[0]!.ref],
    ['the ref of the second run', (_: JobReceipt, runs: Seen[]) => runs[1]!.ref],
  ])('is still revoked by %s', async (_what, refOf) => {
    const runs: Seen[] = [];
    await world.process().consume(noting(clock, runs, () => Again.after('10s')));
    const receipt = await world.add(0);
    await clock.advance(10_000);
    expect(runs).toHaveLength(2);
    const revoked = world.producer.revoke(refOf(receipt, runs));
    await world.settle();
    expect(await revoked).toBe('revoked');
    await clock.advance(60_000);
    expect(runs).toHaveLength(2);
    expect(await world.copies()).toEqual(NONE);
  });

  it('brings nothing where the job was revoked while it ran', async () => {
    const runs: Seen[] = [];
    let end: (result: unknown) => void = () => undefined;
    const worker = world.process();
    await worker.consume(noting(clock, runs, () => new Promise((resolve) => (end = resolve))));
    const receipt = await world.add(0);
    const revoked = world.producer.revoke(receipt);
    await world.settle();
    expect(await revoked).toBe('running');
    end(Again.after('1s'));
    await clock.advance(60_000);
    expect(await world.producer.find(receipt)).toMatchObject({ state: 'revoked' });
    expect(runs).toHaveLength(1);
    expect(worker.reports).toEqual([]);
    expect(await world.copies()).toEqual(NONE);
  });

  it('gives way to a job of its key that was added while it ran', async () => {
    const runs: Seen[] = [];
    let end: (result: unknown) => void = () => undefined;
    await world
      .process()
      .consume(
        noting(clock, runs, (run) => (run === 1 ? new Promise((resolve) => (end = resolve)) : undefined)),
      );
    await world.add(0, { key: 'user 5' });
    const second = world.producer.delay('tube', 'second', 5_000, { key: 'user 5' });
    await world.settle();
    expect((await second).status).toBe('replaced');
    end(Again.after('1s'));
    await clock.advance(60_000);
    expect(runs.map(({ payload }) => payload)).toEqual([{ some: 'payload' }, 'second']);
    expect(await world.copies()).toEqual(NONE);
  });
});
