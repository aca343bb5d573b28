import { describe, expect, it, jest } from '@jest/globals';
import type { DelayedJob } from '../../api/job.js';
import { Again, Discard, Retry } from '../../api/outcome.js';
import type { RunRef } from '../../ledger/requests.js';
import {
  NONE,
  clock,
  consumingInEachTest,
  forEver,
  world,
  type ConsumingProcess,
} from '../../../spec-support/consuming.js';

const BATCH = { size: 3, wait: 200 };
const BACKOFF = { type: 'fixed', delay: '10s', jitter: 0 } as const;

describe('a handler that takes batches', () => {
  consumingInEachTest();

  /** The batches that began: their time, and the ids of their jobs. */
  type Begun = [at: number, ids: string[]][];

  async function noting(
    handle: (jobs: readonly DelayedJob[]) => unknown = () => undefined,
    options: Parameters<ConsumingProcess['consumeBatches']>[2] = {},
    process = world.process(),
  ) {
    const begun: Begun = [];
    const began = clock.now();
    const consumer = await process.consumeBatches(
      BATCH,
      (_payloads, jobs) => {
        begun.push([clock.now() - began, jobs.map(({ id }) => id)]);
        return handle(jobs);
      },
      options,
    );
    return { begun, consumer, process };
  }

  const sizes = (begun: Begun) => begun.map(([, { length }]) => length);
  const stateOf = async ({ ref }: { readonly ref: string }) => {
    const found = world.producer.find({ ref });
    await clock.advance(0);
    return (await found)?.state;
  };

  describe('gets a batch', () => {
    it('as soon as it is complete, and the rest after the wait', async () => {
      const { begun } = await noting();
      await world.addMany(7, 1_000);
      await clock.advance(1_000);
      expect(begun.map(([at]) => at)).toEqual([1_000, 1_000]);
      await clock.advance(199);
      expect(sizes(begun)).toEqual([3, 3]);
      await clock.advance(1);
      expect(sizes(begun)).toEqual([3, 3, 1]);
      expect(begun[2]![0]).toBe(1_200);
      await world.settle();
      expect(await world.copies()).toEqual(NONE);
    });

    it('no later than the wait after its first job came due', async () => {
      const { begun } = await noting();
      const first = await world.add(1_000);
      const second = await world.add(1_150);
      const third = await world.add(1_201);
      await clock.advance(5_000);
      expect(begun).toEqual([
        [1_200, [first.id, second.id]],
        [1_401, [third.id]],
      ]);
    });

    it('with payloads and jobs in the same order, urgent ones first', async () => {
      let seen: unknown;
      await world.process().consumeBatches(BATCH, (payloads, jobs) => {
        seen = jobs.map(({ id, payload, lateness }, i) => [id, payload === payloads[i], lateness]);
      });
      const late = await world.add(1_020);
      const urgent = await world.add(1_100, { priority: 'high' });
      const early = await world.add(1_000);
      await clock.advance(2_000);
      expect(seen).toEqual([
        [urgent.id, true, 0],
        [early.id, true, 100],
        [late.id, true, 80],
      ]);
    });
  });

  describe('until a batch begins', () => {
    it('lets a job be revoked', async () => {
      const { begun } = await noting();
      const revoked = await world.add(1_000);
      const other = await world.add(1_000);
      await clock.advance(1_100);
      expect(await stateOf(revoked)).toBe('waiting');
      const answer = world.producer.revoke({ ref: revoked.ref });
      await clock.advance(0);
      expect(await answer).toBe('revoked');
      await clock.advance(60_000);
      expect(begun).toEqual([[1_200, [other.id]]]);
    });

    it('lets a job expire', async () => {
      const { begun, process } = await noting();
      const expired = process.events.collect('expired');
      const expiring = await world.add(1_000, { expireAfter: 100 });
      const other = await world.add(1_000);
      await clock.advance(60_000);
      expect(begun).toEqual([[1_200, [other.id]]]);
      expect(await stateOf(expiring)).toBe('expired');
      expect(expired.map(({ id }) => id)).toEqual([expiring.id]);
    });

    it('begins none if no job is left', async () => {
      const { begun } = await noting();
      const { ref } = await world.add(1_000);
      await clock.advance(1_100);
      void world.producer.revoke({ ref });
      await clock.advance(60_000);
      expect(begun).toEqual([]);
    });

    it('gives its jobs back when it stops, to run elsewhere at once', async () => {
      const { begun, consumer } = await noting();
      const { id } = await world.add(1_000);
      await clock.advance(1_100);
      const other = await noting();
      expect(await world.stopped(consumer, 10_000)).toBe(0);
      await clock.advance(1_000);
      expect(begun).toEqual([]);
      expect(other.begun.map(([, each]) => each)).toEqual([[id]]);
    });
  });

  describe('decides on each job', () => {
    const attempted = async (handle: (jobs: readonly DelayedJob[]) => unknown) => {
      const noted = await noting(handle, { attempts: 2, backoff: BACKOFF });
      const jobs = await world.addMany(3, 1_000);
      await clock.advance(1_000);
      const states = [];
      for (const job of jobs) states.push(await stateOf(job));
      return { ...noted, states };
    };

    it.each<[string, () => unknown, string[]]>([
      ['nothing', () => undefined, ['done', 'done', 'done']],
      ['anything', () => ({ inserted: 3 }), ['done', 'done', 'done']],
      ['a list of rows', () => [{ id: 1 }, { id: 2 }], ['done', 'done', 'done']],
      ['an outcome', () => Discard.because('no'), ['dead', 'dead', 'dead']],
      ['Again', () => Again.after('1h'), ['waiting', 'waiting', 'waiting']],
      [
        'an error in a list',
        () => [undefined, new Error('no'), Discard.because('never')],
        ['done', 'retrying', 'dead'],
      ],
      [
        'the result of Promise.allSettled',
        () =>
          Promise.allSettled([
            Promise.resolve(1),
            Promise.reject(new Error('no')),
            Promise.resolve(Retry.after('5s')),
          ]),
        ['done', 'retrying', 'retrying'],
      ],
      ['a list of another length', () => [new Error('no')], ['retrying', 'retrying', 'retrying']],
      ['an error', () => new Error('no'), ['retrying', 'retrying', 'retrying']],
      ['the class of an outcome', () => Discard, ['retrying', 'retrying', 'retrying']],
    ])('by returning %s', async (_what, handle, expected) => {
      const { states } = await attempted(async () => handle());
      expect(states).toEqual(expected);
    });

    it.each<[string, (error: Error) => unknown]>([
      [
        'throwing',
        (error) => {
          throw error;
        },
      ],
      ['rejecting', (error) => Promise.reject(error)],
    ])('by %s', async (_what, handle) => {
      const { states, process } = await attempted(() => handle(new Error('no')));
      expect(states).toEqual(['retrying', 'retrying', 'retrying']);
      expect(process.reports).toEqual(['failed 1 no retry', 'failed 1 no retry', 'failed 1 no retry']);
    });

    it('each with its own retries', async () => {
      const { begun, process } = await attempted((jobs) =>
        jobs.map(({ attempt }, i) => (attempt > 1 || i === 1 ? new Error('no') : undefined)),
      );
      await clock.advance(60_000);
      expect(begun.slice(1)).toEqual([[11_200, [begun[0]![1][1]]]]);
      expect(process.reports).toEqual(['failed 1 no retry', 'failed 2 no dead', 'dead attempts']);
    });

    it('and its result belongs to it', async () => {
      const process = world.process();
      const completed = process.events.collect('completed');
      await noting((jobs) => jobs.map(({ id }) => `of ${id}`), {}, process);
      await world.addMany(3, 0);
      expect(completed).toHaveLength(3);
      for (const { job, result } of completed) expect(result).toBe(`of ${job.id}`);
    });
  });

  it('counts batches, even incomplete ones, against its concurrency', async () => {
    const ends: (() => void)[] = [];
    const handle = () => new Promise<void>((resolve) => ends.push(resolve));
    const { begun } = await noting(handle, { concurrency: 2 });
    await world.addMany(1, 1_000);
    await world.addMany(1, 1_500);
    await world.addMany(3, 2_000);
    await clock.advance(2_200);
    expect(sizes(begun)).toEqual([1, 1]);
    ends[0]!();
    await world.settle();
    expect(sizes(begun)).toEqual([1, 1, 3]);
  });

  it('runs more or fewer batches at once if an operator changes that', async () => {
    const { begun, consumer } = await noting(forEver, { concurrency: 1 });
    await world.addMany(9, 0);
    await clock.advance(1_000);
    expect(begun).toHaveLength(1);
    consumer.relimit({ concurrency: 2 });
    await clock.advance(1_000);
    expect(begun).toHaveLength(2);
  });

  it('gives up a slot some seconds after all jobs have timed out', async () => {
    const { begun, process } = await noting(forEver, { concurrency: 1, timeout: 500, backoff: BACKOFF });
    await world.addMany(3, 1_000);
    await world.addMany(3, 1_000);
    await clock.advance(6_499);
    expect(begun).toHaveLength(1);
    expect(process.reports).toHaveLength(3);
    await clock.advance(1_000);
    expect(begun).toHaveLength(2);
  });

  it('aborts the signal of the job that lost its lease, and of no other', async () => {
    let jobs: readonly DelayedJob[] = [];
    const { process } = await noting((given) => {
      jobs = given;
      return forEver();
    });
    await world.addMany(3, 1_000);
    await clock.advance(1_000);
    const refused = jobs[1]!.id;
    const tube = process.ledger.tube('tube');
    const ask = tube.ask.bind(tube);
    jest.spyOn(tube, 'ask').mockImplementation(async (verb, requests, context) => {
      const answers = await ask(verb, requests, context);
      if (verb !== 'extend') return answers;
      return answers.map((answer, i) =>
        (requests[i] as RunRef).id === refused ? 'refused' : answer,
      ) as never;
    });
    await clock.advance(5_000);
    expect(jobs.map(({ signal }) => signal.aborted)).toEqual([false, true, false]);
    expect(jobs[1]!.signal.reason).toMatchObject({ code: 'DQ_LEASE_LOST' });
  });

  it('aborts the signal of a revoked job alone', async () => {
    let jobs: readonly DelayedJob[] = [];
    await noting((given) => {
      jobs = given;
      return forEver();
    });
    await world.addMany(3, 0);
    void world.producer.revoke({ ref: jobs[0]!.ref }, { abort: true });
    await clock.advance(5_000);
    expect(jobs.map(({ signal }) => signal.aborted)).toEqual([true, false, false]);
  });

  it('has at most `perGroup` jobs of a group', async () => {
    const { begun } = await noting(undefined, { limit: { perGroup: 1 } });
    for (const group of ['a', 'a', 'b']) await world.add(1_000, { group });
    await clock.advance(1_000);
    expect(sizes(begun)).toEqual([2]);
    await clock.advance(10_000);
    expect(sizes(begun)).toEqual([2, 1]);
  });

  it('hands its jobs back if a shutdown cuts it off, without counting the attempt', async () => {
    const { consumer, process } = await noting(forEver);
    const jobs = await world.addMany(3, 0);
    await world.stopped(consumer, 1_000);
    const back = process.ledger.asked.filter((call) => call.endsWith(' back'));
    expect(back.toSorted()).toEqual(jobs.map(({ id }) => `complete ${id} back`).toSorted());
    expect(process.reports).toEqual(['cut off 3']);
  });

  it('hands back a batch that a stop finds half granted, without calling the handler', async () => {
    const { begun, consumer, process } = await noting();
    const tube = process.ledger.tube('tube');
    const claim = tube.claim.bind(tube);
    let answer: (() => void) | undefined;
    tube.claim = async (...request) => {
      const answers = await claim(...request);
      await new Promise<void>((resolve) => (answer = resolve));
      return answers;
    };
    await world.addMany(3, 0);
    const stopping = world.stopped(consumer, 5_000);
    await world.settle();
    answer!();
    await stopping;
    expect(begun).toEqual([]);
    expect(process.ledger.asked.filter((call) => call.endsWith(' back'))).toHaveLength(3);
  });

  it('claims its jobs again if the ledger did not answer', async () => {
    const { begun, process } = await noting();
    await world.addMany(2, 1_000);
    await clock.advance(1_100);
    process.ledger.cut();
    await clock.advance(60_000);
    expect(begun).toEqual([]);
    process.ledger.restore();
    await clock.advance(60_000);
    expect(sizes(begun)).toEqual([2]);
  });
});
