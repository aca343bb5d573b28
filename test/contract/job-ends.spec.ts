// The end that `finished` reports, as each ledger knows it.
import { describe, expect, it } from '@jest/globals';
import type { JobEnd } from 'nest-dq/src/api/job-end.js';
import { formatRef } from 'nest-dq/src/copies/job-ref.js';
import type { TubeLedger } from 'nest-dq/src/ledger/ledger.js';
import { JobEnds } from 'nest-dq/src/producer/job-ends.js';
import { ProducerContext, type ProducerParts } from 'nest-dq/src/producer/producer-context.js';
import { systemClock } from 'nest-handlers/time';
import { stored } from 'nest-dq/spec-support/stored.js';
import { everyLedger, MINUTE, THREE } from './ledger-jobs.js';

everyLedger((jobs) => {
  /** The last call. One at a time: after each, what is on disk is compared with what is in memory. */
  let last: Promise<unknown> = Promise.resolve();
  function inTurn<T>(call: () => Promise<T>): Promise<T> {
    const next = last.then(call);
    last = next.catch(() => undefined);
    return next;
  }

  /** The ends of jobs without nodes, as a process asks that isn't the one that runs them. */
  function elsewhere(): JobEnds {
    const ledger = {
      now: () => jobs.tube.now(),
      tube: () =>
        Object.assign(Object.create(jobs.tube) as TubeLedger, {
          ask: (...given: Parameters<TubeLedger['ask']>) => inTurn(() => jobs.tube.ask(...given)),
        }),
      listen: () => () => undefined,
    };
    const cluster = { nodes: [], settings: {}, peek: async () => undefined, find: () => undefined };
    const settings = { prefix: '', backupDelay: 2_000, patience: 0 };
    const waiting = { find: async () => undefined };
    const parts = { cluster, ledger, settings, waiting, clock: systemClock } as unknown as ProducerParts;
    return new JobEnds(new ProducerContext(parts));
  }

  const refOf = (born: number) =>
    formatRef({ tube: stored(jobs.tubeName), id: 'job', born, due: jobs.nowMs(), copies: 0, places: [] });
  const finished = (born = 0, timeout = 5_000): Promise<JobEnd> =>
    elsewhere().finished({ ref: refOf(born) }, { timeout });
  const kept = (born?: number) => ({
    run: {
      took: 31,
      attempt: 1,
      process: 'host:7',
      result: '{"paid":"“ü”"}',
      ...(born !== undefined && { born }),
    },
    period: MINUTE,
    max: 100,
  });
  const base = () => ({ id: 'job', tube: jobs.tubeName });

  describe('finished', () => {
    it('waits for the end, and has what is kept of it', async () => {
      const run = await jobs.run();
      const call = finished();
      await new Promise((resolve) => systemClock.after(60, () => resolve(undefined)));
      const before = jobs.nowMs();
      await inTurn(() => jobs.complete(run, { kind: 'done', kept: kept() }));
      const end = await call;
      const endedAt = expect.any(Date);
      expect(end).toEqual({ ...base(), outcome: 'done', attempt: 1, endedAt, result: { paid: '“ü”' } });
      expect(end.endedAt!.getTime()).toBeGreaterThanOrEqual(before - 5);
      expect(await finished()).toEqual(end);
    });

    it('has no result that isn’t kept', async () => {
      await jobs.done(await jobs.run());
      expect(await finished()).toEqual({ ...base(), outcome: 'done', attempt: 1 });
    });

    it('says why a job is dead', async () => {
      const error = { name: 'Error', message: 'no “ü”' };
      const death = { why: 'discarded', error } as const;
      await jobs.complete(await jobs.run(), { kind: 'dead', death, places: [] });
      const dead = {
        ...base(),
        outcome: 'dead',
        attempt: 1,
        endedAt: expect.any(Date),
        why: 'discarded',
        error,
      };
      expect(await finished()).toEqual(dead);
    });

    it('says that a job was revoked, or has expired', async () => {
      await jobs.revoke();
      expect(await finished()).toEqual({ ...base(), outcome: 'revoked' });
      const born = await jobs.add();
      const startBy = jobs.nowMs() - 500;
      const expiry = { startBy, letter: false, owed: THREE };
      expect(await jobs.claim({ generation: born, born, due: startBy - 500, expiry })).toMatchObject({
        kind: 'expired',
      });
      expect(await finished(born)).toEqual({ ...base(), outcome: 'expired' });
    });

    it('tells the job of a receipt from a later one with its key', async () => {
      const first = await jobs.add();
      const run = await jobs.run({ generation: first, born: first });
      await jobs.complete(run, { kind: 'done', kept: kept(first) });
      await jobs.pass(2);
      const second = await jobs.add();
      expect(await finished(first)).toMatchObject({ outcome: 'done', result: { paid: '“ü”' } });
      await jobs.pass(2);
      const third = await jobs.add();
      expect(await finished(second)).toEqual({ ...base(), outcome: 'replaced' });
      await jobs.done(await jobs.run({ generation: third, born: third, token: 'c' }));
      expect(await finished(third)).toEqual({ ...base(), outcome: 'done', attempt: 1 });
    });

    it('rejects at its timeout, and if nobody knows the job', async () => {
      await jobs.run();
      await expect(finished(0, 100)).rejects.toMatchObject({ code: 'DQ_NOT_FINISHED' });
      const unknown = elsewhere().finished({ tube: stored(jobs.tubeName), key: 'nobody' });
      await expect(unknown).rejects.toMatchObject({ code: 'DQ_UNKNOWN_JOB' });
    });
  });
});
