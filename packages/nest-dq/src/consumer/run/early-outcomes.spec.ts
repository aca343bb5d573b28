import { beforeEach, describe, expect, it } from '@jest/globals';
import { DqError } from '../../errors.js';
import type { DelayedJob } from '../../api/job.js';
import { Discard, Retry } from '../../api/outcome.js';
import { Executing } from '../../../spec-support/executing.js';
import { turn } from '../../../spec-support/scripted-ledger.js';
import type { RunningJob } from './run.js';

const SHUTDOWN = new DqError('DQ_SHUTDOWN', 'over');

describe('A run that ends before its handler', () => {
  let world: Executing;

  beforeEach(() => {
    world = new Executing();
  });

  describe('at the end of a drain', () => {
    let job: DelayedJob;

    function startUntilAborted(id: string, heed: (signal: AbortSignal) => unknown, attempt = 1): void {
      world.handler = (_payload, given) => {
        job = given;
        return new Promise((resolve, reject) => {
          given.signal.addEventListener('abort', () => {
            try {
              resolve(heed(given.signal));
            } catch (error) {
              reject(error as Error);
            }
          });
        });
      };
      world.start({ id }, attempt);
    }

    it('hands back a job whose handler ignores its signal, and ignores its late outcome', async () => {
      let end: (() => void) | undefined;
      world.handler = (_payload, given) => {
        job = given;
        return new Promise<void>((resolve) => (end = resolve));
      };
      world.start();
      world.executor.abortAll(SHUTDOWN);
      expect(job.signal.reason).toBe(SHUTDOWN);
      expect(world.kinds()).toEqual([]);
      world.executor.giveUp();
      expect(world.kinds()).toEqual(['back']);
      end!();
      await turn();
      expect(world.kinds()).toEqual(['back']);
      expect(world.handling()).toBe(0);
    });

    it('does as the handler says where it says something', async () => {
      startUntilAborted('a', () => 'finished in time');
      startUntilAborted('b', () => {
        throw Retry.after('3s');
      });
      world.executor.abortAll(SHUTDOWN);
      await turn();
      expect(world.kinds()).toEqual(['done', 'retry']);
    });
  });

  describe('with an outcome before its handler returns', () => {
    let job: RunningJob;
    let end: () => void;

    /** As an interceptor that gives up waiting does. */
    function abandon(said: () => unknown): void {
      world.handler = async (_payload, given) => {
        job = given as RunningJob;
        job.abandon(new Promise<void>((resolve) => (end = resolve)));
        return said();
      };
    }
    const slow = () => {
      throw new Error('too slow');
    };

    it.each<[string, () => unknown, string]>([
      ['that it failed', slow, 'retry'],
      ['that it is done', () => 'enough', 'done'],
    ])('says that at once, and keeps its slot until the handler ends: %s', async (_what, said, kind) => {
      const order: string[] = [];
      abandon(() => {
        job.signal.addEventListener('abort', () => order.push(world.kinds().join()));
        return said();
      });
      world.start();
      await turn();
      expect(order).toEqual([kind]);
      expect(job.signal.reason).toMatchObject({ code: 'DQ_TIMEOUT' });
      await world.clock.advance(4_999);
      expect([world.handling(), world.freed]).toEqual([1, 0]);
      end();
      await turn();
      expect([world.handling(), world.freed]).toEqual([0, 1]);
      await world.clock.advance(60_000);
      expect([world.kinds(), world.context.reports]).toEqual([[kind], []]);
    });

    it('waits 5 s for the handler, then warns, and its slot is free, also with a timeout', async () => {
      for (const timeout of [undefined, 2_000]) {
        [world.ended, world.freed] = [[], 0];
        world.executor = world.make({ timeout });
        abandon(slow);
        world.start();
        await world.clock.advance(4_999);
        expect([world.handling(), world.context.reports]).toEqual([1, []]);
        await world.clock.advance(1);
        expect([world.handling(), world.context.reports]).toEqual([0, ['overran 1']]);
        end();
        await world.clock.advance(60_000);
        expect([world.kinds(), world.freed, world.context.reports]).toEqual([['retry'], 1, ['overran 1']]);
      }
    });

    it('says nothing more after its timeout, nor after a drain', async () => {
      let give = () => {};
      const later = () => new Promise<void>((resolve) => (give = resolve));
      world.executor = world.make({ timeout: 2_000 });
      abandon(later);
      world.start();
      await world.clock.advance(3_000);
      give();
      await world.clock.advance(3_999);
      expect([world.handling(), world.context.reports]).toEqual([1, []]);
      await world.clock.advance(1); // 5 s after the timeout
      expect([world.handling(), world.context.reports]).toEqual([0, ['overran 1']]);
      abandon(later);
      world.start({ id: 'b' });
      world.executor.abortAll(SHUTDOWN);
      world.executor.giveUp();
      give();
      await world.clock.advance(60_000);
      expect([world.kinds(), world.handling(), world.freed, world.context.reports.length]).toEqual([
        ['retry', 'back'],
        0,
        2,
        1,
      ]);
    });
  });

  describe('with a timeout', () => {
    let jobs: DelayedJob[];
    let end: (result?: unknown) => void;

    beforeEach(() => {
      world.executor = world.make({ timeout: 2_000 });
      jobs = [];
      world.handler = (_payload, given) => {
        jobs.push(given);
        return new Promise((resolve) => (end = resolve));
      };
    });

    const codeOf = (job: DelayedJob) => (job.signal.reason as DqError | undefined)?.code;

    it('leaves alone what ends in time', async () => {
      world.start();
      await world.clock.advance(1_999);
      end();
      await world.clock.advance(60_000);
      expect(world.kinds()).toEqual(['done']);
      expect(codeOf(jobs[0]!)).toBeUndefined();
      expect(world.context.reports).toEqual([]);
    });

    it('is completed before the signal is raised, so that nothing said to that counts', async () => {
      const order: string[] = [];
      world.handler = (_payload, { signal }) => ({
        // oxlint-disable-next-line unicorn/no-thenable -- it settles at once, as no promise does
        then: (_returned: unknown, threw: (error: unknown) => void) =>
          signal.addEventListener('abort', () => {
            order.push(world.kinds().join());
            threw(Discard.because('too slow'));
          }),
      });
      world.start();
      await world.clock.advance(2_000);
      expect(order).toEqual(['retry']);
      expect(world.kinds()).toEqual(['retry']);
      expect(world.handling()).toBe(0);
    });

    it('watches each run separately, and does not watch one with an unreadable payload', async () => {
      world.start({ id: 'a' });
      await world.clock.advance(1_500);
      world.start({ id: 'unreadable' }, 1, { type: 'json', bytes: Buffer.from('{') });
      world.start({ id: 'b' });
      await world.clock.advance(1_999);
      expect(world.ended.map(([{ id }, { kind }]) => `${id} ${kind}`)).toEqual([
        'unreadable dead',
        'a retry',
      ]);
      await world.clock.advance(1);
      expect(world.kinds()).toEqual(['dead', 'retry', 'retry']);
    });

    it('is no failure while a drain hands back, and leaves no timer', async () => {
      world.start({ id: 'a' });
      await world.clock.advance(1_900);
      world.start({ id: 'b' });
      world.executor.abortAll(SHUTDOWN);
      await world.clock.advance(200);
      expect(world.kinds()).toEqual(['back']);
      world.executor.giveUp();
      expect(world.kinds()).toEqual(['back', 'back']);
      await world.clock.advance(60_000);
      expect([world.kinds(), world.context.reports]).toEqual([['back', 'back'], []]);
    });
  });
});
