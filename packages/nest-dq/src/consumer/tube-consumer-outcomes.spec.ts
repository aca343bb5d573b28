import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JobEnvelope } from '../copies/formats/dq1.js';
import type { DqError } from '../errors.js';
import { parseRef } from '../copies/job-ref.js';
import { Again, Discard, type DelayedJob, type HandlerMethod, type JobReceipt } from '../api/job.js';
import type { CompleteRequest, Letter } from '../ledger/requests.js';
import { parseLocation, type Place } from '../copies/location.js';
import { copyBody } from '../../spec-support/copy-body.js';
import { Consuming, NONE, forEver, type ConsumingProcess } from '../../spec-support/consuming.js';
import type { VirtualClock } from '../test-kit/virtual-clock.js';

const LEASE = 15_000;

let world: Consuming;
let clock: VirtualClock;

beforeEach(async () => {
  world = new Consuming(LEASE);
  clock = world.clock;
  await world.settle();
});

afterEach(() => world.close());

/** What a handler saw at its start. */
function seen(payload: unknown, job: DelayedJob) {
  const { id, key, headers, attempt, attempts, fence, lateness, ref } = job;
  return { id, key, payload, headers, attempt, attempts, fence, lateness, ref, at: clock.wall() };
}
type Seen = ReturnType<typeof seen>;

/** Notes each run, and ends as `how` says of the run's number, from 1. */
function noting(runs: Seen[], how: (run: number, job: DelayedJob) => unknown): HandlerMethod {
  return (payload, job) => {
    runs.push(seen(payload, job));
    return how(runs.length, job);
  };
}

const byIndex = (a: Place, b: Place) => a.index - b.index;
const placesOf = (ref: string) => [...parseRef({ ref }, '').places].sort(byIndex);

/** Replaces a process's calls of `finish` with the outcome `again`. */
function onAgain(
  worker: ConsumingProcess,
  change: (finish: () => Promise<unknown>, run: number) => Promise<unknown>,
): void {
  const tube = worker.ledger.tube('tube');
  const finish = tube.complete.bind(tube);
  let asked = 0;
  tube.complete = async (requests: readonly CompleteRequest[]) => {
    if (requests[0]!.outcome.kind !== 'again') return finish(requests);
    return (await change(() => finish(requests), ++asked)) as Awaited<ReturnType<typeof finish>>;
  };
}

describe('Again', () => {
  const once =
    (outcome: unknown) =>
    (run: number): unknown =>
      run === 1 ? outcome : undefined;

  it.each([
    ['plain', undefined],
    ['keyed', 'user 5'],
  ])(
    'runs a %s job again at its time: the same job with a greater fence, its attempts anew',
    async (_, key) => {
      const runs: Seen[] = [];
      await world.process().consume(
        noting(runs, (run) => {
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
      noting(runs, (run) => {
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
    await world.process().consume(noting(runs, () => Again.at(instant())));
    await world.add(0);
    await clock.advance(5_500);
    expect(runs).toHaveLength(6);
  });

  it('at an instant that a long handler has passed is at once', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    await worker.consume(
      noting(runs, async (run, { dueAt }) => {
        if (run === 3) return undefined;
        await new Promise<void>((resolve) => void clock.after(1_500, resolve));
        return Again.at(dueAt.getTime() + 1_000);
      }),
    );
    const { dueAt } = await world.add(0);
    await clock.advance(10_000);
    expect(runs.map(({ at }) => Math.floor((at - dueAt.getTime()) / 100))).toEqual([0, 15, 30]);
    expect(worker.reports).toEqual([]);
  });

  it('at once is at once, although this process still ends the run when the new copies surface', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    onAgain(worker, async (finish) => {
      await new Promise<void>((resolve) => void clock.after(30, resolve));
      return finish();
    });
    await worker.consume(noting(runs, once(Again.after(0))));
    await world.add(1_000);
    await clock.advance(1_130);
    expect(runs).toHaveLength(2);
    await clock.advance(20_000);
    expect(runs).toHaveLength(2);
    expect(await world.copies()).toEqual(NONE);
  });

  it('never uses up the attempts, and leaves nothing behind', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    await worker.consume(
      noting(runs, (run) => (run < 20 ? Again.after('1s') : undefined)),
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
    await world.process().consume(noting(runs, once(Again.after('10s'))));
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
    await world.process().consume(noting(runs, () => Again.after('10s')));
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

  describe('where too few nodes can store it', () => {
    /** But for the one that has the copy in hand. */
    const closeOthers = (ref: string) => {
      const { endpoint } = parseLocation(placesOf(ref).find(({ index }) => index === 0)!.location)!;
      world.servers.forEach((server, i) => endpoint === `n${i}` || server.close());
    };

    it('waits as the copies that it has: a run that went well is not made again', async () => {
      const runs: Seen[] = [];
      const worker = world.process();
      await worker.consume(
        noting(runs, (run, { ref }) => {
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

    it('goes on so, with attempts begun anew each time, and uses none up', async () => {
      const runs: Seen[] = [];
      const worker = world.process();
      await worker.consume(
        noting(runs, (run, { ref }) => {
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
      await worker.consume(noting(runs, once(Again.after('10s'))));
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
        noting(runs, (_, { ref }) => {
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
      const consumer = await worker.consume(noting(runs, () => Again.after('10s')));
      worker.cluster.put = () => undefined; // no node answers
      const { dueAt } = await world.add(0);
      expect(await world.stopped(consumer, 5_000)).toBeLessThan(600);
      await world.process().consume(noting(runs, () => undefined));
      await clock.advance(60_000);
      expect(runs.map(({ at, attempt }) => [at - dueAt.getTime(), attempt])).toEqual([
        [0, 1],
        [10_000, 1],
      ]);
      expect(await world.copies()).toEqual(NONE);
    });
  });

  it('brings nothing where the job was revoked while it ran', async () => {
    const runs: Seen[] = [];
    let end: (result: unknown) => void = () => undefined;
    const worker = world.process();
    await worker.consume(noting(runs, () => new Promise((resolve) => (end = resolve))));
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

  it('brings nothing where the job is revoked between its storing and its finish', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    const receipts: JobReceipt[] = [];
    onAgain(worker, async (finish) => {
      await world.ledger
        .tube('tube')
        .revoke([{ id: receipts[0]!.id, born: 0, due: 0, owed: { mask: 7, unknown: false }, abort: false }]);
      return finish();
    });
    await worker.consume(noting(runs, () => Again.after('10s')));
    receipts.push(await world.add(1_000));
    await clock.advance(1_000);
    await world.settle();
    await clock.advance(500);
    expect(await world.copies()).toEqual(NONE); // long before any of them would surface
    await clock.advance(60_000);
    expect(runs).toHaveLength(1);
  });

  it('gives way to a job of its key that was added while it ran', async () => {
    const runs: Seen[] = [];
    let end: (result: unknown) => void = () => undefined;
    await world
      .process()
      .consume(noting(runs, (run) => (run === 1 ? new Promise((resolve) => (end = resolve)) : undefined)));
    await world.add(0, { key: 'user 5' });
    const second = world.producer.delay('tube', 'second', 5_000, { key: 'user 5' });
    await world.settle();
    expect((await second).status).toBe('replaced');
    end(Again.after('1s'));
    await clock.advance(60_000);
    expect(runs.map(({ payload }) => payload)).toEqual([{ some: 'payload' }, 'second']);
    expect(await world.copies()).toEqual(NONE);
  });

  it.each([
    ['never arrives', false],
    ['arrives, but its answer is lost', true],
  ])('runs once more where its first finish %s', async (_how, acts) => {
    const runs: Seen[] = [];
    const worker = world.process();
    onAgain(worker, async (finish, asked) => {
      if (asked > 1) return finish();
      if (acts) await finish();
      worker.ledger.cut();
      throw new Error('no answer');
    });
    await worker.consume(noting(runs, once(Again.after('10s'))));
    const { dueAt } = await world.add(0);
    await clock.advance(3_000);
    worker.ledger.restore();
    await clock.advance(60_000);
    expect(runs.map(({ at }) => at - dueAt.getTime())).toEqual([0, 10_000]);
    expect(worker.reports).toEqual([]);
    expect(await world.copies()).toEqual(NONE);
  });

  it('waits for a ledger that is away, with its slot free and its lease kept', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    const ends: ((result: unknown) => void)[] = [];
    await worker.consume(
      noting(runs, () => new Promise((resolve) => ends.push(resolve))),
      { concurrency: 1 },
    );
    const first = await world.add(0);
    worker.ledger.cut();
    ends[0]!(Again.after('10s'));
    await clock.advance(800);
    const other = await world.add(0);
    expect(worker.ledger.asked).not.toContain(`open ${first.id} again`);
    worker.ledger.restore();
    await world.settle();
    expect(worker.ledger.asked).toContain(`open ${first.id} again`);
    await clock.advance(3_000);
    expect(runs.map(({ id }) => id)).toEqual([first.id, other.id]);
    ends[1]!(undefined);
    await clock.advance(20_000);
    expect(runs.slice(2)).toMatchObject([{ id: first.id, attempt: 1 }]);
    expect(runs[2]!.at - first.dueAt.getTime()).toBe(10_000);
  });

  it('is dropped with its copies when its finish comes too late: another run has taken over', async () => {
    const runs: Seen[] = [];
    const [slow, other] = [world.process(), world.process()];
    onAgain(slow, async (finish, asked) => {
      if (asked === 1) slow.ledger.cut();
      return finish();
    });
    await slow.consume(noting(runs, () => Again.after('60s')));
    await world.add(0);
    await other.consume(noting(runs, () => undefined));
    await clock.advance(LEASE + 10_000);
    expect(runs.map(({ attempt }) => attempt)).toEqual([1, 2]);
    slow.ledger.restore();
    await clock.advance(1_000);
    expect((await world.copies()).delayed).toBeLessThan(3); // no new ones
    await clock.advance(200_000);
    expect(runs).toHaveLength(2);
    expect(slow.reports).toEqual(['lease lost 1']);
    expect(await world.copies()).toEqual(NONE);
  });

  it('is waited for by a drain', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    const tube = worker.ledger.tube('tube');
    const open = tube.open.bind(tube);
    tube.open = async (requests) => {
      await new Promise<void>((resolve) => void clock.after(400, resolve));
      return open(requests);
    };
    const consumer = await worker.consume(
      noting(runs, () => new Promise((resolve) => void clock.after(200, () => resolve(Again.after('10s'))))),
    );
    const { dueAt } = await world.add(0);
    const took = await world.stopped(consumer, 5_000);
    expect(took).toBeGreaterThanOrEqual(600);
    expect(took).toBeLessThan(700);
    expect(await world.copies()).toEqual({ ...NONE, delayed: 3 });
    await world.process().consume(noting(runs, () => undefined));
    await clock.advance(20_000);
    expect(runs.map(({ at }) => at - dueAt.getTime())).toEqual([0, 10_200]);
  });
});

describe('a timeout', () => {
  it('retries the job, whose handler keeps its slot for 5 s more; what it comes to late does not count', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    let end: (result: unknown) => void = () => undefined;
    await worker.consume(
      noting(runs, (run) => (run === 1 ? new Promise((resolve) => (end = resolve)) : undefined)),
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
      world = new Consuming(lease);
      clock = world.clock;
      await world.settle();
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

  it('does not keep a handler from ending well', async () => {
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

  it('is not heard without abort: the run goes on, but its failure brings no retry, and is told as such', async () => {
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

describe('a dead letter', () => {
  async function letters(): Promise<readonly Letter[]> {
    const page = await world.ledger.tube('tube').letters({ limit: 10, after: undefined });
    return page.letters;
  }

  const sorted = ({ places }: Letter) => [...places].sort(byIndex);

  it.each<[string, HandlerMethod, Partial<Letter>]>([
    [
      'whose attempts are used up',
      () => {
        throw new TypeError('no');
      },
      {
        why: 'attempts',
        attempt: 2,
        error: { name: 'TypeError', message: 'no', stack: expect.any(String) as never },
      },
    ],
    ['that was discarded', () => Discard.because('gone'), { why: 'discarded', attempt: 1 }],
  ])('%s names every copy, and all are buried', async (_what, handler, what) => {
    await world.process().consume(handler, { attempts: 2, backoff: { type: 'fixed', delay: 100 } });
    const { id, ref } = await world.add(1_000);
    await clock.advance(1_200);
    const [early] = await letters();
    expect(early).toMatchObject({ id, born: 0, ...what });
    expect(sorted(early!)).toEqual(placesOf(ref));
    await clock.advance(30_000);
    expect((await letters()).map(sorted)).toEqual([placesOf(ref)]);
    expect(await world.copies()).toEqual({ ...NONE, buried: 3 });
  });

  it('of a job that went on is that of its last generation, with its new places', async () => {
    let starts = 0;
    await world.process().consume(() => (++starts === 1 ? Again.after('5s') : Discard.because('gone')));
    const { id, ref } = await world.add(0);
    await clock.advance(60_000);
    const [letter, ...others] = await letters();
    expect(others).toEqual([]);
    expect(letter).toMatchObject({ id, born: 0, attempt: 1 });
    expect(letter!.generation).toBeGreaterThan(0);
    expect(sorted(letter!).map(({ index }) => index)).toEqual([0, 1, 2]);
    for (const place of placesOf(ref)) expect(letter!.places).not.toContainEqual(place);
    expect(await world.copies()).toEqual({ ...NONE, buried: 3 });
  });

  /** Puts one copy on the first node, and tells where it is. */
  function put(body: Buffer): Promise<Place> {
    const [observer] = world.observers;
    return new Promise((resolve) =>
      observer!.put('tube', [body], { priority: 1, delay: 0, ttr: 60 }, (_error, reply) => {
        const instance = world.process().cluster.nodes[0]!;
        void world
          .settle()
          .then(() =>
            resolve({ index: 0, location: `n0#${instance.instance}:${(reply as { id: string }).id}` }),
          );
      }),
    );
  }

  it.each([
    ['unreadable', 0, { why: 'invalid', attempt: 1 }],
    ['long overdue', -604_900_000, { why: 'stale', attempt: 0 }],
  ] as const)('of what is %s names the copy', async (_what, late, what) => {
    const worker = world.process();
    const dead = worker.events.collect('dead');
    let starts = 0;
    await worker.consume(() => void starts++);
    const job = { id: 'odd', due: clock.wall() + late, generation: 0, copies: 1, priority: 1 };
    const placed = put(copyBody(new JobEnvelope(job, { type: 'json', bytes: Buffer.from('{') }), 0));
    await clock.advance(1_000);
    const place = await placed;
    await clock.advance(1_000);
    expect(await letters()).toMatchObject([{ id: 'odd', born: 0, ...what, places: [place] }]);
    expect([starts, worker.reports]).toEqual([0, [`dead ${what.why}`]]);
    expect(dead).toMatchObject([{ letter: { id: 'odd', tube: 'tube', ...what } }]);
    expect(dead[0]!.letter).not.toHaveProperty('payload');
    expect(await world.copies()).toEqual({ ...NONE, buried: 1 });
  });

  it('of a job that killed its processes names its copies as they are found, each once', async () => {
    const [killed, other] = [world.process(), world.process()];
    await killed.consume(forEver, { attempts: 1 });
    const { id, ref } = await world.add(1_000);
    await clock.advance(2_000);
    killed.ledger.cut();
    await other.consume(forEver, { attempts: 1 });
    await clock.advance(LEASE + 60_000);
    expect((await letters()).map((letter) => ({ ...letter, places: sorted(letter) }))).toMatchObject([
      { id, why: 'attempts', attempt: 1, places: placesOf(ref).slice(1) },
    ]);
    expect(other.reports).toEqual(['dead attempts']);
    killed.ledger.restore();
    await world.settle();
    await world.stopped(killed.consumer!, 0);
    await clock.advance(60_000);
    expect((await letters()).map(sorted)).toEqual([placesOf(ref)]);
    expect(other.reports).toEqual(['dead attempts']);
    expect(await world.copies()).toEqual({ ...NONE, buried: 3 });
  });

  it('is told of its copies again where the ledger was away', async () => {
    const worker = world.process();
    const tube = worker.ledger.tube('tube');
    const buried = tube.buried.bind(tube);
    let asked = 0;
    tube.buried = async (requests) => {
      if (++asked > 1) return buried(requests);
      worker.ledger.cut();
      throw new Error('no answer');
    };
    await worker.consume(forEver);
    const job = { id: 'old', due: clock.wall() - 604_900_000, generation: 0, copies: 1, priority: 1 };
    const placed = put(copyBody(new JobEnvelope(job, { type: 'void', bytes: Buffer.alloc(0) }), 0));
    await clock.advance(300);
    const place = await placed;
    worker.ledger.restore();
    await world.settle();
    expect((await letters())[0]!.places).toEqual([place]);
    await clock.advance(10_000);
    expect(asked).toBe(2);
  });
});

describe('ten deploys', () => {
  it.each([1, 2])(
    'do not use up the attempts of a job that takes longer, of which there are %i',
    async (attempts) => {
      const runs: Seen[] = [];
      for (let i = 0; i < 10; i++) {
        const worker = world.process();
        const consumer = await worker.consume(noting(runs, forEver), { attempts });
        if (i === 0) await world.add(0);
        await clock.advance(1_000);
        expect(runs).toHaveLength(i + 1);
        await world.stopped(consumer, 100);
        expect(worker.reports).toEqual(['cut off 1']);
        worker.close();
      }
      const last = world.process();
      await last.consume(
        noting(runs, () => new Promise<void>((resolve) => void clock.after(20_000, resolve))),
        { attempts },
      );
      await clock.advance(40_000);
      expect(runs).toHaveLength(11);
      expect(runs.every(({ attempt }) => attempt === 1)).toBe(true);
      const fences = runs.map(({ fence }) => fence);
      expect(fences).toEqual([...new Set(fences)].toSorted((a, b) => a - b));
      expect(last.reports).toEqual([]);
      expect(await world.copies()).toEqual(NONE);
    },
  );
});

describe('a job that the ledger fails at', () => {
  it('is reported once, and neither keeps the others from ending nor loses its own outcome', async () => {
    const worker = world.process();
    const tube = worker.ledger.tube('tube');
    const finish = tube.complete.bind(tube);
    let bad = '';
    const healed = clock.now() + 12_000;
    tube.complete = (requests) =>
      requests.some(({ id }) => id === bad) && clock.now() < healed
        ? Promise.reject(new Error('WRONGTYPE'))
        : finish(requests);
    let starts = 0;
    await worker.consume(() => {
      starts++;
      throw Discard.because('gone');
    });
    const all = await world.addMany(5, 1_000);
    bad = all[2]!.id;
    await clock.advance(1_500);
    expect(await world.copies()).toMatchObject({ buried: 4, reserved: 1 });
    await clock.advance(60_000);
    expect(starts).toBe(5);
    expect(worker.reports.filter((text) => text.startsWith('ledger'))).toEqual([
      `ledger trouble ${bad} WRONGTYPE`,
    ]);
    expect(await world.copies()).toEqual({ ...NONE, buried: 15 });
  });
});
