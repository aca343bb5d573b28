import { describe, expect, it } from '@jest/globals';
import type { DqError } from '../../errors.js';
import { Discard } from '../../api/outcome.js';
import { NONE, clock, consumingInEachTest, openWorld, world } from '../../../spec-support/consuming.js';
import { noting, type Seen } from '../../../spec-support/noting.js';

consumingInEachTest();

describe('a timeout', () => {
  it('retries the job, whose handler keeps its slot for 5 s more; its late outcome does not count', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    let end: (result: unknown) => void = () => undefined;
    await worker.consume(
      noting(clock, runs, (run) => (run === 1 ? new Promise((resolve) => (end = resolve)) : undefined)),
      { timeout: '2s', concurrency: 1, attempts: 2, backoff: { type: 'fixed', delay: 900, jitter: 0 } },
    );
    const { dueAt } = await world.add(1_000);
    await clock.advance(3_000);
    expect(worker.reports).toEqual([expect.stringMatching(/^failed 1 DQ_TIMEOUT: .* retry$/)]);
    await clock.advance(4_900);
    expect(runs).toHaveLength(1);
    await clock.advance(2_000);
    end(Discard.because('late'));
    await clock.advance(60_000);
    expect(worker.reports.slice(1)).toEqual(['overran 1']);
    expect(runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(runs[1]!.at - dueAt.getTime()).toBeGreaterThanOrEqual(7_000);
    expect(await world.copies()).toEqual(NONE);
  });

  it('ends a job for good in its last attempt, and frees the slot of a handler that heeds it at once', async () => {
    const worker = world.process();
    const starts: string[] = [];
    await worker.consume(
      (_payload, { id, signal }) => {
        starts.push(id);
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        );
      },
      { timeout: '2s', concurrency: 1, attempts: 1 },
    );
    const first = await world.add(0);
    const second = await world.add(100);
    await clock.advance(2_050);
    expect(starts).toEqual([first.id, second.id]);
    expect(worker.reports).toEqual([
      expect.stringMatching(/^failed 1 DQ_TIMEOUT: .* dead$/),
      'dead attempts',
    ]);
  });
});

describe('a revoke with abort', () => {
  it.each([
    [3_000, 1],
    [15_000, 2],
    [60_000, 1],
  ])(
    'is heard within 5 s with a lease of %i ms, and neither a retry nor a dead letter follows, of %i attempts',
    async (lease, attempts) => {
      await world.close();
      await openWorld(lease);
      const worker = world.process();
      let aborted: [time: number, code: string] | undefined;
      let starts = 0;
      await worker.consume(
        (_payload, { signal }) => {
          starts++;
          return new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => {
              aborted = [clock.now(), (signal.reason as DqError).code];
              reject(signal.reason as Error);
            }),
          );
        },
        { attempts },
      );
      const receipt = await world.add(0);
      await clock.advance(10_123);
      const asked = clock.now();
      const revoked = world.producer.revoke(receipt, { abort: true });
      await world.settle();
      expect(await revoked).toBe('running');
      expect(aborted).toBeUndefined();
      await clock.advance(5_000);
      expect(aborted?.[1]).toBe('DQ_REVOKED');
      expect(aborted![0] - asked).toBeLessThan(5_000);
      await clock.advance(120_000);
      expect(starts).toBe(1);
      expect(worker.reports).toEqual(['revoked 1']);
      expect(await world.copies()).toEqual(NONE);
    },
  );

  it('does not keep a handler from completing', async () => {
    const worker = world.process();
    let end: () => void = () => undefined;
    let signal: AbortSignal | undefined;
    await worker.consume((_payload, job) => {
      signal = job.signal;
      return new Promise<void>((resolve) => (end = resolve));
    });
    const receipt = await world.add(0);
    const revoked = world.producer.revoke(receipt, { abort: true });
    await clock.advance(10_000);
    expect(await revoked).toBe('running');
    expect(signal!.aborted).toBe(true);
    end();
    await clock.advance(60_000);
    expect(worker.reports).toEqual(['revoked 1']);
    expect(await world.copies()).toEqual(NONE);
  });

  it('is not noticed without abort: the run continues, but its failure brings no retry, and is reported as such', async () => {
    const worker = world.process();
    let fail: (error: Error) => void = () => undefined;
    let signal: AbortSignal | undefined;
    let starts = 0;
    await worker.consume((_payload, job) => {
      starts++;
      signal = job.signal;
      return new Promise((_resolve, reject) => (fail = reject));
    });
    const receipt = await world.add(0);
    const revoked = world.producer.revoke(receipt);
    await clock.advance(10_000);
    expect(await revoked).toBe('running');
    expect(signal!.aborted).toBe(false);
    fail(new Error('no'));
    await clock.advance(60_000);
    expect(starts).toBe(1);
    expect(worker.reports).toEqual(['failed 1 no over']);
    expect(await world.copies()).toEqual(NONE);
  });
});
