import { beforeEach, describe, expect, it } from '@jest/globals';
import { DqError } from '../errors.js';
import { Retry, type DelayedJob, type HandlerMethod } from '../job.js';
import type { CopyHeader } from '../envelope.js';
import { heldDelivery, recordingLane } from '../testing/recording-lane.js';
import { ScriptedLedger, turn } from '../testing/scripted-ledger.js';
import { VirtualClock } from '../testing/virtual-clock.js';
import { Delivery } from './delivery.js';
import { Executor } from './executor.js';
import { DEFAULT_HANDLER_SETTINGS } from './handler-settings.js';
import type { Verdict } from './outcome.js';
import type { ConsumerReport } from './report.js';
import type { Run } from './run.js';

const SHUTDOWN = new DqError('DQ_SHUTDOWN', 'over');

describe('Executor', () => {
  let clock: VirtualClock;
  let handler: HandlerMethod;
  let executor: Executor;
  let verdicts: [run: Run, verdict: Verdict][];
  let reports: string[];
  const { lane } = recordingLane();

  beforeEach(() => {
    clock = new VirtualClock();
    handler = () => undefined;
    verdicts = [];
    reports = [];
    const report = {
      failed: (job: DelayedJob, error: Error, retryAt?: Date) =>
        reports.push(`failed ${job.id} ${error.message} ${retryAt ? retryAt.getTime() : 'for good'}`),
      leaseLost: (tube: string, id: string, attempt: number) =>
        reports.push(`lease lost ${tube} ${id} ${attempt}`),
    } as unknown as ConsumerReport;
    const settings = {
      ...DEFAULT_HANDLER_SETTINGS,
      attempts: 3,
      backoff: { type: 'fixed', delay: 400, max: 400, jitter: 0 },
    } as const;
    executor = new Executor(
      { tube: 'tube', storedAs: 'app.tube' },
      (payload, job) => handler(payload, job),
      settings,
      new ScriptedLedger(clock),
      report,
      (run, verdict) => verdicts.push([run, verdict]),
    );
  });

  function start(header: Partial<CopyHeader> = {}, attempt = 1): void {
    const delivery = heldDelivery(lane, { id: 'a', ...header });
    executor.start(delivery, { kind: 'run', fence: 77, attempt, due: 1_000 }, 0);
  }

  const kinds = () => verdicts.map(([, { kind }]) => kind);

  it('shows the handler its job', async () => {
    await clock.advance(1_250);
    let job: DelayedJob | undefined;
    handler = (_payload, given) => void (job = given);
    start({ headers: { tenant: 'x' }, attempts: 6 }, 2);
    expect(job).toMatchObject({
      id: 'a',
      tube: 'tube',
      payload: undefined,
      headers: { tenant: 'x' },
      attempt: 2,
      attempts: 6,
      fence: 77,
      lateness: 250,
      dueAt: new Date(1_000),
    });
    expect(job!.signal.aborted).toBe(false);
  });

  it('counts a handler until it has ended, and a run until its outcome is taken', async () => {
    let end: (() => void) | undefined;
    handler = () => new Promise<void>((resolve) => (end = resolve));
    start();
    expect(executor.handling).toBe(1);
    expect(executor.has('a')).toBe(true);
    end!();
    await turn();
    expect(kinds()).toEqual(['done']);
    expect(executor.handling).toBe(0);
    expect(executor.has('a')).toBe(true);
    executor.forget(verdicts[0]![0]);
    expect(executor.has('a')).toBe(false);
    expect([...executor.all()]).toEqual([]);
  });

  it('takes a plain value at once', () => {
    start();
    expect(kinds()).toEqual(['done']);
  });

  it.each<[string, HandlerMethod]>([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
  ])('a handler that %s is retried after the backoff, and reported', async (_how, failing) => {
    await clock.advance(5_000);
    handler = failing;
    start();
    await turn();
    expect(verdicts[0]![1]).toMatchObject({ kind: 'retry', delay: 400 });
    expect(reports).toEqual(['failed a no 5400']);
    expect(executor.handling).toBe(0);
  });

  it('goes by the attempts and the backoff of the job before those of the handler', async () => {
    handler = () => Promise.reject(new Error('no'));
    start({ attempts: 2, backoff: { type: 'fixed', delay: 9, max: 9, jitter: 0 } }, 1);
    start({ id: 'b', attempts: 2 }, 2);
    start({ id: 'c' }, 3);
    await turn();
    expect(verdicts.map(([{ id }, verdict]) => [id, verdict.kind])).toEqual([
      ['a', 'retry'],
      ['b', 'dead'],
      ['c', 'dead'],
    ]);
    expect(verdicts[0]![1]).toMatchObject({ delay: 9 });
    expect(reports).toContain('failed b no for good');
  });

  it('never starts a payload that cannot be read: it is dead as invalid', () => {
    let started = false;
    handler = () => void (started = true);
    const { header, node, copyId } = heldDelivery(lane);
    const content = { type: 'json', bytes: Buffer.from('{') } as const;
    const unreadable = new Delivery(node, lane, copyId, { header, content });
    executor.start(unreadable, { kind: 'run', fence: 1, attempt: 1, due: 0 }, 0);
    expect(started).toBe(false);
    expect(verdicts[0]![1]).toMatchObject({ kind: 'dead', death: { why: 'invalid' } });
    expect(executor.handling).toBe(0);
  });

  it('raises the signal of a run that lost its lease, once', () => {
    let job: DelayedJob | undefined;
    handler = (_payload, given) => {
      job = given;
      return new Promise(() => undefined);
    };
    start();
    const [run] = executor.all();
    executor.loseLease(run!);
    executor.loseLease(run!);
    expect((job!.signal.reason as DqError).code).toBe('DQ_LEASE_LOST');
    expect(reports).toEqual(['lease lost tube a 1']);
  });

  it('does not tell that a run failed after it lost its lease: it does not count', async () => {
    handler = (_payload, { signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      );
    start();
    const [run] = executor.all();
    executor.loseLease(run!);
    await turn();
    expect(kinds()).toEqual(['retry']);
    expect(reports).toEqual(['lease lost tube a 1']);
  });

  it('takes a result whose `then` throws for a failure', () => {
    handler = () =>
      // oxlint-disable-next-line unicorn/no-thenable -- it is what this is about
      Object.defineProperty({}, 'then', {
        get: () => {
          throw new Error('no then');
        },
      });
    start();
    expect(kinds()).toEqual(['retry']);
  });

  describe('at the end of a drain', () => {
    let job: DelayedJob;

    function startUntilAborted(id: string, heed: (signal: AbortSignal) => unknown, attempt = 1): void {
      handler = (_payload, given) => {
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
      start({ id }, attempt);
    }

    it('gives back what ignores its signal, and what its handler comes to later does not count', async () => {
      let end: (() => void) | undefined;
      handler = (_payload, given) => {
        job = given;
        return new Promise<void>((resolve) => (end = resolve));
      };
      start();
      executor.abortAll(SHUTDOWN);
      expect(job.signal.reason).toBe(SHUTDOWN);
      expect(kinds()).toEqual([]);
      executor.giveUp();
      expect(kinds()).toEqual(['back']);
      end!();
      await turn();
      expect(kinds()).toEqual(['back']);
      expect(executor.handling).toBe(0);
    });

    it('gives back what heeds its signal by throwing, on the last attempt too, and calls it no failure', async () => {
      startUntilAborted('a', (signal) => signal.throwIfAborted(), 3);
      executor.abortAll(SHUTDOWN);
      await turn();
      expect(kinds()).toEqual(['back']);
      expect(reports).toEqual([]);
    });

    it('does as the handler says where it says something', async () => {
      startUntilAborted('a', () => 'finished in time');
      startUntilAborted('b', () => {
        throw Retry.after('3s');
      });
      executor.abortAll(SHUTDOWN);
      await turn();
      expect(kinds()).toEqual(['done', 'retry']);
    });

    it('leaves alone what has ended', async () => {
      start();
      executor.abortAll(SHUTDOWN);
      executor.giveUp();
      expect(kinds()).toEqual(['done']);
    });
  });
});
