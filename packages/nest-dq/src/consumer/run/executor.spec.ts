import { beforeEach, describe, expect, it } from '@jest/globals';
import { DqError } from '../../errors.js';
import { Again, Discard, Retry, type DelayedJob, type HandlerMethod } from '../../api/job.js';
import { encodePayload, type Content } from '../../copies/payload.js';
import type { CopyHeader } from '../../copies/header.js';
import { parseRef } from '../../copies/job-ref.js';
import { dated, datedLater, schemaBy } from '../../../spec-support/schemas.js';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import { turn } from '../../../spec-support/scripted-ledger.js';
import { runOf, tubeContext } from '../../../spec-support/tube-context.js';
import { VirtualClock } from '../../test-kit/virtual-clock.js';
import { Executor } from './executor.js';
import { DEFAULT_HANDLER_SETTINGS, type HandlerSettings } from './handler-settings.js';
import type { RunOutcome } from './outcome.js';
import type { Run, RunningJob } from './run.js';

const SHUTDOWN = new DqError('DQ_SHUTDOWN', 'over');

describe('Executor', () => {
  let clock: VirtualClock;
  let handler: HandlerMethod;
  let executor: Executor;
  let ended: [run: Run, outcome: RunOutcome][];
  let context: ReturnType<typeof tubeContext>;
  let freed: number;
  const { lane } = recordingLane();

  beforeEach(() => {
    clock = new VirtualClock();
    handler = () => undefined;
    ended = [];
    freed = 0;
    executor = make();
  });

  function make(settings: Partial<HandlerSettings> = {}): Executor {
    const backoff = { type: 'fixed', delay: 400, max: 400, jitter: 0 } as const;
    const handling = { ...DEFAULT_HANDLER_SETTINGS, attempts: 3, backoff, ...settings };
    context = tubeContext(clock, { handling });
    return new Executor(
      context,
      (payload, job) => handler(payload, job),
      (run, outcome) => ended.push([run, outcome]),
      () => freed++,
    );
  }

  function start(
    header: Partial<CopyHeader> & { copyId?: string } = {},
    attempt = 1,
    content?: Content,
  ): void {
    const delivery = heldDelivery(lane, { id: 'a', ...header }, content);
    executor.start(runOf(delivery, { fence: 77, attempt, due: 1_000 }));
  }

  const handling = () => context.budget.handling;
  const kinds = () => ended.map(([, { kind }]) => kind);

  it('shows the handler its job', async () => {
    await clock.advance(1_250);
    let job: DelayedJob | undefined;
    handler = (_payload, given) => void (job = given);
    start({ headers: { tenant: 'x' }, attempts: 6, key: 'user 5' }, 2);
    expect(job).toMatchObject({
      id: 'a',
      tube: 'tube',
      key: 'user 5',
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
    expect(handling()).toBe(1);
    end!();
    await turn();
    expect(kinds()).toEqual(['done']);
    expect(handling()).toBe(0);
    expect(freed).toBe(1);
    expect([...context.runs.keys()]).toEqual(['a']); // the ledger has not taken it
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
  ])('a handler that %s is retried after the backoff', async (_how, failing) => {
    handler = failing;
    start();
    await turn();
    expect(ended[0]![1]).toMatchObject({ kind: 'retry', delay: 400 });
    expect(handling()).toBe(0);
  });

  it('goes by the attempts and the backoff of the job before those of the handler', async () => {
    handler = () => Promise.reject(new Error('no'));
    start({ attempts: 2, backoff: { type: 'fixed', delay: 9, max: 9, jitter: 0 } }, 1);
    start({ id: 'b', attempts: 2 }, 2);
    start({ id: 'c' }, 3);
    await turn();
    expect(ended.map(([{ id }, outcome]) => [id, outcome.kind])).toEqual([
      ['a', 'retry'],
      ['b', 'dead'],
      ['c', 'dead'],
    ]);
    expect(ended[0]![1]).toMatchObject({ delay: 9 });
  });

  it('never starts a payload that cannot be read: it is dead as invalid', () => {
    let started = false;
    handler = () => void (started = true);
    start({}, 1, { type: 'json', bytes: Buffer.from('{') });
    expect(started).toBe(false);
    expect(ended[0]![1]).toMatchObject({ kind: 'dead', death: { why: 'invalid' } });
    expect(handling()).toBe(0);
  });

  describe.each([
    ['a schema that answers at once', dated],
    ['a schema that answers later', datedLater],
  ])('with %s', (_which, validate) => {
    let seen: unknown[];
    beforeEach(() => {
      seen = [];
      handler = (payload, job) => void seen.push(payload, job.payload);
      executor = make({ schema: schemaBy(validate) });
    });

    async function startWith(payload: unknown): Promise<void> {
      start({}, 1, encodePayload(payload));
      await clock.advance(0);
    }

    it('gives the handler, and its job, what the schema makes of the payload', async () => {
      await startWith({ at: '2030-01-01' });
      const payload = { at: new Date('2030-01-01') };
      expect(seen).toEqual([payload, payload]);
      expect(kinds()).toEqual(['done']);
    });

    it('never starts what the schema refuses: it is dead as invalid, with the issues', async () => {
      await startWith({ at: 5 });
      expect(seen).toEqual([]);
      expect(ended[0]![0].job).toBeUndefined();
      expect(ended[0]![1]).toMatchObject({
        kind: 'dead',
        death: { why: 'invalid', error: { message: expect.stringMatching(/at: expected a text/) } },
        error: { code: 'DQ_BAD_PAYLOAD' },
      });
      expect(handling()).toBe(0);
    });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('slip');
      },
    ],
    ['rejects', () => Promise.reject(new Error('slip'))],
  ])('fails a run whose schema %s, as the handler would', async (_how, validate) => {
    executor = make({ schema: schemaBy(validate) });
    start();
    await turn();
    expect(ended[0]).toMatchObject([
      { job: { id: 'a', payload: undefined } },
      { kind: 'retry', error: { message: 'slip' } },
    ]);
    expect(handling()).toBe(0);
  });

  it('starts no handler once its schema answers after a shutdown, or after the timeout', async () => {
    const answers: (() => void)[] = [];
    const validate = () => new Promise<{ value: unknown }>((done) => answers.push(() => done({ value: 1 })));
    let started = false;
    handler = () => void (started = true);
    executor = make({ schema: schemaBy(validate), timeout: 1_000 });
    start({ id: 'late' });
    await clock.advance(1_000);
    expect(kinds()).toEqual(['retry']);
    expect(ended[0]![0].job).toBeDefined();
    start({ id: 'shut-down' });
    executor.abortAll(SHUTDOWN);
    for (const answer of answers) answer();
    await turn();
    expect(kinds()).toEqual(['retry', 'back']);
    expect(handling()).toBe(0);
    expect(started).toBe(false);
  });

  it('ends a run that was revoked without a failure, in its last attempt too, unless its handler says more', async () => {
    const outcomes = [new Error('aborted'), Retry.after('1s'), Discard.because('gone')];
    for (const [i, outcome] of outcomes.entries()) {
      handler = () => Promise.reject(outcome);
      start({ id: String(i) }, i === 1 ? 1 : 3);
    }
    for (const run of context.runs.values()) run.revoked = true;
    await turn();
    expect(kinds()).toEqual(['back', 'retry', 'dead']);
  });

  it('shows the handler a ref that finds the job again, wherever it was moved to', () => {
    let ref = '';
    handler = (_payload, job) => void (ref = job.ref);
    const siblings = [{ index: 2, location: 'n2#i2:?' }];
    start({ copyId: '7', key: 'user 5', due: 6_000, generation: 9, born: 4, index: 1, siblings });
    expect(parseRef({ ref }, '')).toEqual({
      tube: 'app.tube',
      id: 'a',
      key: 'user 5',
      born: 4,
      due: 6_000,
      copies: 3,
      places: [{ index: 1, location: 'node#instance:7' }, ...siblings],
    });
  });

  it('lets a run go on that says Again, and counts it as failed where that cannot be', async () => {
    handler = () => Again.after('1s');
    start();
    expect(ended[0]![1]).toEqual({ kind: 'again', delay: 1_000, at: 0 });
    executor.fail(ended[0]![0], new Error('no nodes'));
    expect(ended[1]![1]).toMatchObject({ kind: 'retry', delay: 400 });
    expect([handling(), freed]).toEqual([0, 1]);
  });

  it('goes by the handler’s backoff function, and by the job’s plan before it', async () => {
    executor = make({ backoff: (attempt, { message }) => (message === 'no' ? attempt * 1_000 : 1) });
    handler = () => Promise.reject(new Error('no'));
    start({}, 2);
    start({ id: 'b', backoff: { type: 'fixed', delay: 9, max: 9, jitter: 0 } }, 2);
    await turn();
    expect(ended.map(([, outcome]) => (outcome as { delay: number }).delay)).toEqual([2_000, 9]);
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

    it('hands back what ignores its signal, and what its handler comes to later does not count', async () => {
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
      expect(handling()).toBe(0);
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
  });

  describe('of which it is said what becomes of it while its handler still runs', () => {
    let job: RunningJob;
    let end: () => void;

    /** As an interceptor that gives up waiting does. */
    function abandon(said: () => unknown): void {
      handler = async (_payload, given) => {
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
        job.signal.addEventListener('abort', () => order.push(kinds().join()));
        return said();
      });
      start();
      await turn();
      expect(order).toEqual([kind]);
      expect(job.signal.reason).toMatchObject({ code: 'DQ_TIMEOUT' });
      await clock.advance(4_999);
      expect([handling(), freed]).toEqual([1, 0]);
      end();
      await turn();
      expect([handling(), freed]).toEqual([0, 1]);
      await clock.advance(60_000);
      expect([kinds(), context.reports]).toEqual([[kind], []]);
    });

    it('waits 5 s for the handler, then warns, and its slot is free, also with a timeout', async () => {
      for (const timeout of [undefined, 2_000]) {
        [ended, freed] = [[], 0];
        executor = make({ timeout });
        abandon(slow);
        start();
        await clock.advance(4_999);
        expect([handling(), context.reports]).toEqual([1, []]);
        await clock.advance(1);
        expect([handling(), context.reports]).toEqual([0, ['overran 1']]);
        end();
        await clock.advance(60_000);
        expect([kinds(), freed, context.reports]).toEqual([['retry'], 1, ['overran 1']]);
      }
    });

    it('says nothing more after its timeout, nor after a drain', async () => {
      let give = () => {};
      const later = () => new Promise<void>((resolve) => (give = resolve));
      executor = make({ timeout: 2_000 });
      abandon(later);
      start();
      await clock.advance(3_000);
      give();
      await clock.advance(3_999);
      expect([handling(), context.reports]).toEqual([1, []]);
      await clock.advance(1); // 5 s after the timeout
      expect([handling(), context.reports]).toEqual([0, ['overran 1']]);
      abandon(later);
      start({ id: 'b' });
      executor.abortAll(SHUTDOWN);
      executor.giveUp();
      give();
      await clock.advance(60_000);
      expect([kinds(), handling(), freed, context.reports.length]).toEqual([['retry', 'back'], 0, 2, 1]);
    });
  });

  describe('with a timeout', () => {
    let jobs: DelayedJob[];
    let end: (result?: unknown) => void;

    beforeEach(() => {
      executor = make({ timeout: 2_000 });
      jobs = [];
      handler = (_payload, given) => {
        jobs.push(given);
        return new Promise((resolve) => (end = resolve));
      };
    });

    const codeOf = (job: DelayedJob) => (job.signal.reason as DqError | undefined)?.code;

    it('leaves alone what ends in time', async () => {
      start();
      await clock.advance(1_999);
      end();
      await clock.advance(60_000);
      expect(kinds()).toEqual(['done']);
      expect(codeOf(jobs[0]!)).toBeUndefined();
      expect(context.reports).toEqual([]);
    });

    it('is done with before the signal is raised, so that nothing said to that counts', async () => {
      const order: string[] = [];
      handler = (_payload, { signal }) => ({
        // oxlint-disable-next-line unicorn/no-thenable -- it settles at once, as no promise does
        then: (_returned: unknown, threw: (error: unknown) => void) =>
          signal.addEventListener('abort', () => {
            order.push(kinds().join());
            threw(Discard.because('too slow'));
          }),
      });
      start();
      await clock.advance(2_000);
      expect(order).toEqual(['retry']);
      expect(kinds()).toEqual(['retry']);
      expect(handling()).toBe(0);
    });

    it('watches each run by itself, and one whose payload cannot be read not at all', async () => {
      start({ id: 'a' });
      await clock.advance(1_500);
      start({ id: 'unreadable' }, 1, { type: 'json', bytes: Buffer.from('{') });
      start({ id: 'b' });
      await clock.advance(1_999);
      expect(ended.map(([{ id }, { kind }]) => `${id} ${kind}`)).toEqual(['unreadable dead', 'a retry']);
      await clock.advance(1);
      expect(kinds()).toEqual(['dead', 'retry', 'retry']);
    });

    it('is no failure while a drain hands back, and leaves no timer', async () => {
      start({ id: 'a' });
      await clock.advance(1_900);
      start({ id: 'b' });
      executor.abortAll(SHUTDOWN);
      await clock.advance(200);
      expect(kinds()).toEqual(['back']);
      executor.giveUp();
      expect(kinds()).toEqual(['back', 'back']);
      await clock.advance(60_000);
      expect([kinds(), context.reports]).toEqual([['back', 'back'], []]);
    });
  });
});
