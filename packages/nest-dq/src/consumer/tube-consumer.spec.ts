import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { JobEnvelope } from '../copies/formats/dq1.js';
import type { DqError } from '../errors.js';
import { Discard, type DelayedJob } from '../api/job.js';
import { copyBody } from '../../spec-support/copy-body.js';
import { BACKUP_DELAY, Consuming, NONE, forEver } from '../../spec-support/consuming.js';
import type { VirtualClock } from '../test-kit/virtual-clock.js';

const LEASE = 15_000;

describe('TubeConsumer', () => {
  let world: Consuming;
  let clock: VirtualClock;

  beforeEach(async () => {
    world = new Consuming(LEASE);
    clock = world.clock;
    await world.settle();
  });

  afterEach(() => world.close());

  const count = (texts: readonly string[], text: string) => texts.filter((each) => each === text).length;

  describe('runs a job', () => {
    it('once, at its millisecond, and leaves no copy behind', async () => {
      const starts: number[] = [];
      await world.process().consume(() => void starts.push(clock.wall()));
      const { dueAt, copies: stored } = await world.add(3_210);
      expect(stored).toBe(3);
      await clock.advance(3_209);
      expect(starts).toEqual([]);
      await clock.advance(1);
      expect(starts).toEqual([dueAt.getTime()]);
      await world.settle();
      expect(await world.copies()).toEqual(NONE);
      await clock.advance(60_000);
      expect(starts).toHaveLength(1);
    });

    it('at once when it is due at once', async () => {
      let starts = 0;
      await world.process().consume(() => void starts++);
      await world.add(0);
      expect(starts).toBe(1);
    });

    it('once where two processes wait for it', async () => {
      const starts: string[] = [];
      for (const name of ['a', 'b'])
        await world.process().consume((_payload, { id }) => void starts.push(`${name} ${id}`));
      const receipts = await world.addMany(40, 1_000);
      await clock.advance(10_000);
      expect(starts.map((start) => start.slice(2)).toSorted()).toEqual(
        receipts.map(({ id }) => id).toSorted(),
      );
      expect(await world.copies()).toEqual(NONE);
    });

    it('from a backup, once its stagger is over, when the node of its primary is gone', async () => {
      const starts: number[] = [];
      await world.process().consume((_payload, job) => void starts.push(job.lateness));
      const { ref } = await world.add(2_000);
      const places = (JSON.parse(Buffer.from(ref.slice(4), 'base64url').toString()) as unknown[])[5];
      const [, primary] = (places as [number, string][]).find(([index]) => index === 0)!;
      world.servers[Number(primary[1])]!.close();
      await clock.advance(2_000 + BACKUP_DELAY + 1_000);
      expect(starts).toHaveLength(1);
      expect(starts[0]).toBeGreaterThanOrEqual(BACKUP_DELAY - 1_000);
    });

    it('from whichever node, with fewer slots than nodes', async () => {
      let starts = 0;
      const worker = world.process();
      await worker.consume(() => void starts++, { concurrency: 1 });
      expect(await world.waits()).toBe(3);
      await world.addMany(9, 1_000);
      await clock.advance(1_000);
      await world.settle();
      expect(starts).toBe(9);
    });

    it('under another grant, as the same attempt, that waited behind a handler which blocked for almost a lease', async () => {
      const runs: string[] = [];
      const worker = world.process();
      await worker.consume((_payload, { id, attempt }) => {
        runs.push(`${id} ${attempt}`);
        if (runs.length === 1) clock.stall(LEASE - 500);
      });
      const receipts = await world.addMany(2, 1_000);
      await clock.advance(1_000);
      await world.settle();
      expect(runs).toHaveLength(2);
      expect(runs.toSorted()).toEqual(receipts.map(({ id }) => `${id} 1`).toSorted());
      await clock.advance(2 * LEASE); // a backup that surfaced meanwhile was let go for so long
      expect(await world.copies()).toEqual(NONE);
      expect(worker.reports).toEqual([]);
    });

    it('no more at once than it has slots', async () => {
      let now = 0;
      let most = 0;
      const ends: (() => void)[] = [];
      await world.process().consume(
        () => {
          most = Math.max(most, ++now);
          return new Promise<void>((resolve) => ends.push(resolve)).then(() => void now--);
        },
        { concurrency: 3 },
      );
      await world.addMany(10, 500);
      await clock.advance(600);
      expect(ends).toHaveLength(3);
      for (let i = 0; i < 10; i++) {
        ends[i]!();
        await clock.advance(500);
      }
      expect(ends).toHaveLength(10);
      expect(most).toBe(3);
      expect(await world.copies()).toEqual(NONE);
    });

    it('of another process’s, once that has had no slot free for a second and ended nothing', async () => {
      await world.process().consume(forEver, { concurrency: 5 });
      await world.addMany(10, 0);
      await clock.advance(900);
      expect((await world.copies()).reserved).toBe(10);
      const late: number[] = [];
      await world.process().consume((_payload, job) => void late.push(job.lateness), { concurrency: 5 });
      await clock.advance(600);
      expect(late).toHaveLength(5);
      expect(Math.max(...late)).toBeLessThan(1_500);
    });
  });

  describe('retries', () => {
    it.each([
      ['that is held', 700],
      ['that goes back to its node meanwhile', 3_300],
    ])('after the backoff, to the millisecond, a job %s', async (_how, delay) => {
      const starts: [time: number, attempt: number][] = [];
      await world.process().consume(
        (_payload, { attempt, dueAt }) => {
          expect(dueAt.getTime()).toBe(clock.wall());
          starts.push([clock.wall(), attempt]);
          if (attempt < 3) throw new Error('no');
        },
        { backoff: { type: 'fixed', delay, jitter: 0 } },
      );
      const due = (await world.add(1_000)).dueAt.getTime();
      await clock.advance(30_000);
      expect(starts).toEqual([
        [due, 1],
        [due + delay, 2],
        [due + 2 * delay, 3],
      ]);
      expect(await world.copies()).toEqual(NONE);
    });

    it('until the attempts are used up; then every copy is buried, and one death is told', async () => {
      const worker = world.process();
      let starts = 0;
      await worker.consume(
        () => {
          starts++;
          throw new Error('no');
        },
        { attempts: 2, backoff: { type: 'fixed', delay: 500, jitter: 0 } },
      );
      await world.add(1_000);
      await clock.advance(60_000);
      expect(starts).toBe(2);
      expect(worker.reports).toEqual(['failed 1 no retry', 'failed 2 no dead', 'dead attempts']);
      expect(await world.copies()).toEqual({ ...NONE, buried: 3 });
    });

    it('never what was discarded', async () => {
      const worker = world.process();
      let starts = 0;
      await worker.consume(() => {
        starts++;
        return Discard.because('gone');
      });
      await world.add(1_000);
      await clock.advance(60_000);
      expect(starts).toBe(1);
      expect(worker.reports).toEqual(['failed 1 gone dead', 'dead discarded']);
      expect(await world.copies()).toEqual({ ...NONE, buried: 3 });
    });
  });

  it('sends a copy back by its own header, without asking the ledger, when its node’s clock ran ahead', async () => {
    const worker = world.process();
    await worker.consume(() => undefined);
    const due = clock.wall() + 3_600_000;
    const job = { id: 'ahead', due, generation: 0, copies: 1, priority: 1 };
    const body = copyBody(new JobEnvelope(job, { type: 'void', bytes: Buffer.alloc(0) }), 0);
    world.observers[0]!.put('tube', [body], { priority: 1, delay: 0, ttr: 60 }, () => undefined);
    await clock.advance(60_000);
    expect(worker.ledger.asked).toEqual([]);
    expect(await world.copies()).toEqual({ ...NONE, delayed: 1 });
  });

  it('listens to the ledger once, however often it is started', async () => {
    const worker = world.process();
    const listen = jest.spyOn(worker.ledger.tube('tube'), 'listen');
    const consumer = await worker.consume(() => undefined);
    consumer.start();
    await world.settle();
    expect(listen).toHaveBeenCalledTimes(1);
    expect(await world.waits()).toBe(3);
  });

  it('asks nothing about the other copies of a job that it runs: they go for a lease and their stagger', async () => {
    const worker = world.process();
    await worker.consume(forEver);
    const { id } = await world.add(1_000);
    await clock.advance(8_000);
    expect(count(worker.ledger.asked, `claim ${id}`)).toBe(1);
    expect(await world.copies()).toEqual({ ...NONE, reserved: 1, delayed: 2 });
    await clock.advance(60_000);
    expect(count(worker.ledger.asked, `claim ${id}`)).toBe(1);
    expect(await world.copies()).toEqual({ ...NONE, reserved: 1, delayed: 2 });
  });

  it('keeps a long run for as long as it takes: extended every third of the lease, touched, and run by nobody else', async () => {
    const [one, two] = [world.process(), world.process()];
    let starts = 0;
    let end: (() => void) | undefined;
    for (const worker of [one, two]) {
      await worker.consume(() => {
        starts++;
        return new Promise<void>((resolve) => (end = resolve));
      });
    }
    const { id } = await world.add(1_000);
    await clock.advance(301_000);
    const extended = count([...one.ledger.asked, ...two.ledger.asked], `extend ${id}`);
    expect(extended).toBeGreaterThanOrEqual(59);
    expect(starts).toBe(1);
    end!();
    await clock.advance(61_000);
    expect(starts).toBe(1);
    expect(await world.copies()).toEqual(NONE);
  });

  describe('while the ledger is away', () => {
    it('runs nothing, and gives everything to others after a second, at once', async () => {
      const [cut, healthy] = [world.process(), world.process()];
      const starts: string[] = [];
      await cut.consume((_payload, { id }) => void starts.push(`cut ${id}`), { concurrency: 50 });
      const receipts = await world.addMany(20, 3_000);
      await clock.advance(2_500);
      expect((await world.copies()).reserved).toBeGreaterThan(0);
      cut.ledger.cut();
      await healthy.consume((_payload, { id, lateness }) => void starts.push(`healthy ${id} ${lateness}`));
      await clock.advance(999);
      expect(starts).toEqual([]);
      await clock.advance(300);
      expect(starts.map((start) => start.split(' ').slice(0, 2).join(' ')).toSorted()).toEqual(
        receipts.map(({ id }) => `healthy ${id}`).toSorted(),
      );
      expect(cut.ledger.asked.filter((text) => text.startsWith('claim'))).toEqual([]);
      await clock.advance(10_000);
      expect(await world.copies()).toEqual(NONE);
    });

    it('reserves no more, and lets go at once of what an open wait still brings', async () => {
      const worker = world.process();
      await worker.consume(forEver);
      worker.ledger.cut();
      await clock.advance(1_000);
      await world.addMany(9, 0);
      await clock.advance(30_000);
      expect(await world.copies()).toEqual({ ...NONE, ready: 27 });
    });

    it('tells what it runs first when it is back, claims nothing for two seconds, then goes on', async () => {
      const worker = world.process();
      const starts: string[] = [];
      let end: (() => void) | undefined;
      await worker.consume((_payload, { id }) => {
        starts.push(id);
        if (starts.length === 1) return new Promise<void>((resolve) => (end = resolve));
        return starts.length === 2 ? forEver() : undefined;
      });
      const ended = await world.add(0);
      const running = await world.add(0);
      worker.ledger.cut();
      end!();
      await clock.advance(4_000);
      const late = await world.add(0);
      worker.ledger.asked.length = 0;
      worker.ledger.restore(false);
      await world.settle();
      expect(worker.ledger.asked).toContain(`complete ${ended.id} done`);
      expect(worker.ledger.asked).toContain(`extend ${running.id}`);
      await clock.advance(1_999);
      expect(worker.ledger.asked.filter((text) => text.startsWith('claim'))).toEqual([]);
      expect(starts).toEqual([ended.id, running.id]);
      await clock.advance(2_000);
      expect(starts).toEqual([ended.id, running.id, late.id]);
    });

    it('pauses for the two seconds anew when it was away again meanwhile', async () => {
      const worker = world.process();
      let starts = 0;
      await worker.consume(() => void starts++);
      worker.ledger.cut();
      await clock.advance(3_000);
      await world.add(0);
      worker.ledger.restore(false);
      await clock.advance(1_500);
      worker.ledger.cut();
      await clock.advance(100);
      worker.ledger.restore(false);
      await clock.advance(1_999);
      expect(starts).toBe(0);
      await clock.advance(1_000);
      expect(starts).toBe(1);
    });

    it('keeps what it holds where the ledger is back within the second', async () => {
      const worker = world.process();
      const starts: number[] = [];
      await worker.consume((_payload, { lateness }) => void starts.push(lateness));
      await world.add(1_500);
      await clock.advance(1_400);
      worker.ledger.cut();
      await clock.advance(900);
      worker.ledger.restore(false);
      await clock.advance(2_000);
      expect(starts).toEqual([2_800]);
    });

    it('runs what is due as soon as the same server is back, however often it goes', async () => {
      const worker = world.process();
      const starts: number[] = [];
      await worker.consume((_payload, { lateness }) => void starts.push(lateness));
      for (let i = 0; i < 5; i++) await world.add(500 + i * 1_900);
      for (let i = 0; i < 5; i++) {
        await clock.advance(450);
        worker.ledger.cut();
        await clock.advance(150);
        worker.ledger.restore();
        await clock.advance(1_300);
      }
      expect(starts).toHaveLength(5);
      expect(Math.max(...starts)).toBeLessThan(150);
    });

    it('takes over no run of a process that was cut off, too, and comes back a little later', async () => {
      const [slow, other] = [world.process(), world.process()];
      let starts = 0;
      const start = () => {
        starts++;
        return forEver();
      };
      await slow.consume(start);
      const { id } = await world.add(0);
      await other.consume(start);
      for (const { ledger } of [slow, other]) ledger.cut();
      await clock.advance(LEASE + 1_000);
      other.ledger.restore();
      await clock.advance(1_500);
      expect(other.ledger.asked).toContain(`claim ${id}`);
      slow.ledger.restore();
      await clock.advance(60_000);
      expect(starts).toBe(1);
    });

    it('does not begin; it begins two seconds after the ledger is there', async () => {
      const worker = world.process();
      worker.ledger.away = true;
      await worker.consume(forEver);
      worker.ledger.cut();
      const { id } = await world.add(0);
      await clock.advance(20_000);
      expect(await world.copies()).toEqual({ ...NONE, ready: 3 });
      worker.ledger.restore(false);
      await clock.advance(1_999);
      expect(worker.ledger.asked).toEqual([]);
      await clock.advance(1_000);
      expect(worker.ledger.asked).toContain(`claim ${id}`);
      await clock.advance(LEASE);
      expect(count(worker.ledger.asked, `extend ${id}`)).toBeGreaterThanOrEqual(2);
    });

    it('does not begin where only the listeners of other tubes heard of it', async () => {
      const worker = world.process();
      // Time was read before, so only `away` tells.
      const consumer = worker.prepare(() => undefined);
      worker.ledger.tube('tube').readTime = () => Promise.resolve();
      worker.ledger.away = true;
      consumer.start();
      await world.addMany(5, 0);
      await clock.advance(5_000);
      expect(await world.copies()).toEqual({ ...NONE, ready: 15 });
    });
  });

  it('tells of a lost lease too when the handler ended before anybody could ask', async () => {
    const [silent, other] = [world.process(), world.process()];
    let end: (() => void) | undefined;
    let runs = 0;
    await silent.consume(() => {
      runs++;
      return new Promise<void>((resolve) => (end = resolve));
    });
    await world.add(0);
    silent.ledger.cut();
    await other.consume(() => void runs++);
    await clock.advance(LEASE + 10_000);
    expect(runs).toBe(2);
    end!();
    await world.settle();
    expect(silent.reports).toEqual([]);
    silent.ledger.restore();
    await world.settle();
    expect(silent.reports).toEqual(['lease lost 1']);
  });

  it('refuses the outcome of a run that was silent for longer than its lease, and raises its signal', async () => {
    const [silent, other] = [world.process(), world.process()];
    const jobs: DelayedJob[] = [];
    let end: (() => void) | undefined;
    await silent.consume((_payload, job) => {
      jobs.push(job);
      return new Promise<void>((resolve) => (end = resolve));
    });
    const { id } = await world.add(0);
    silent.ledger.cut();
    await other.consume((_payload, job) => void jobs.push(job));
    await clock.advance(LEASE - 100);
    expect(jobs).toHaveLength(1);
    expect(jobs[0]!.signal.aborted).toBe(false);
    await clock.advance(10_000);
    expect(jobs).toHaveLength(2);
    expect(jobs[1]).toMatchObject({ id, attempt: 2 });
    expect(jobs[1]!.fence).toBeGreaterThan(jobs[0]!.fence);
    // Silence is no reason to stop.
    expect(jobs[0]!.signal.aborted).toBe(false);
    silent.ledger.restore();
    await world.settle();
    expect((jobs[0]!.signal.reason as DqError).code).toBe('DQ_LEASE_LOST');
    expect(silent.reports).toContain('lease lost 1');
    end!();
    await clock.advance(60_000);
    expect(jobs).toHaveLength(2);
    expect(await world.copies()).toEqual(NONE);
  });

  describe('when it is stopped', () => {
    it('lets a handler end, takes its outcome, and is done as soon as that is', async () => {
      const consumer = await world
        .process()
        .consume(() => new Promise<void>((resolve) => void clock.after(300, resolve)));
      await world.add(0);
      expect(await world.stopped(consumer, 10_000)).toBeLessThan(400);
      expect(await world.copies()).toEqual(NONE);
    });

    it('gives back at once what it has not begun', async () => {
      const consumer = await world.process().consume(forEver, { concurrency: 1 });
      await world.add(0);
      await world.addMany(5, 900);
      await clock.advance(500);
      expect((await world.copies()).reserved).toBe(6);
      const stopping = consumer.stop(60_000);
      await world.settle();
      expect(await world.copies()).toMatchObject({ reserved: 1, ready: 5 });
      await clock.advance(61_000);
      await stopping;
    });

    it('reserves nothing more where the ledger comes back meanwhile', async () => {
      const process = world.process();
      const consumer = await process.consume(forEver);
      await world.add(0);
      const stopping = consumer.stop(60_000);
      process.ledger.cut();
      await clock.advance(2_000);
      process.ledger.restore();
      await clock.advance(6_000);
      expect(await world.waits()).toBe(0);
      await clock.advance(61_000);
      await stopping;
    });

    it('aborts at the limit what still runs, and gives the attempt back', async () => {
      const jobs: DelayedJob[] = [];
      const one = await world.process().consume(
        (_payload, job) => {
          jobs.push(job);
          return forEver();
        },
        { attempts: 1 },
      );
      const { id } = await world.add(0);
      await world.process().consume((_payload, job) => void jobs.push(job), { attempts: 1 });
      void one.stop(1_000);
      await clock.advance(999);
      expect(jobs[0]!.signal.aborted).toBe(false);
      await clock.advance(1);
      expect((jobs[0]!.signal.reason as DqError).code).toBe('DQ_SHUTDOWN');
      await clock.advance(3_000);
      expect(jobs).toHaveLength(2);
      expect(jobs[1]).toMatchObject({ id, attempt: 1 });
      expect(jobs[1]!.fence).toBeGreaterThan(jobs[0]!.fence);
    });

    it('does not count as a failure what its own signal ended', async () => {
      const worker = world.process();
      const consumer = await worker.consume(
        (_payload, { signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          ),
        { attempts: 1 },
      );
      const { id } = await world.add(0);
      await world.stopped(consumer, 500);
      expect(worker.ledger.asked.at(-1)).toBe(`complete ${id} back`);
      expect(worker.reports).toEqual(['cut off 1']);
      expect((await world.copies()).buried).toBe(0);
    });

    it('tells nothing of a handler that has outlived its timeout: its job is not given back', async () => {
      const worker = world.process();
      const consumer = await worker.consume(forEver, { timeout: 100, attempts: 1 });
      await world.add(0);
      await clock.advance(200);
      await world.stopped(consumer, 500);
      expect(worker.reports).toEqual([expect.stringMatching(/^failed 1/), 'dead attempts']);
    });

    it('gives back what a claim brings afterwards, without running it', async () => {
      const worker = world.process();
      let starts = 0;
      const consumer = await worker.consume(() => void starts++);
      await world.add(0);
      starts = 0;
      const tube = worker.ledger.tube('tube');
      const claim = tube.claim.bind(tube);
      let answer: (() => void) | undefined;
      tube.claim = async (...request) => {
        const answers = await claim(...request);
        await new Promise<void>((resolve) => (answer = resolve));
        return answers;
      };
      const { id } = await world.add(0);
      const stopping = world.stopped(consumer, 5_000);
      await world.settle();
      answer!();
      await stopping;
      expect(starts).toBe(0);
      expect(worker.ledger.asked.at(-1)).toBe(`complete ${id} back`);
    });

    it('lets go at once of what was claimed without an answer', async () => {
      const worker = world.process();
      await worker.consume(forEver);
      const tube = worker.ledger.tube('tube');
      let fail: (() => void) | undefined;
      tube.claim = () => new Promise((_resolve, reject) => (fail = () => reject(new Error('no answer'))));
      await world.add(0);
      worker.ledger.cut();
      await clock.advance(1_000);
      expect((await world.copies()).reserved).toBe(1);
      fail!();
      await world.settle();
      expect((await world.copies()).reserved).toBe(0);
    });

    it('before it was started, does nothing, and cannot be started any more', async () => {
      const worker = world.process();
      let starts = 0;
      const consumer = worker.prepare(() => void starts++);
      expect(await world.stopped(consumer, 1_000)).toBe(0);
      consumer.start();
      await world.add(0);
      await clock.advance(10_000);
      expect(starts).toBe(0);
      expect(await world.copies()).toEqual({ ...NONE, ready: 3 });
    });

    it('abandons what the ledger could not be told of, so that nobody here keeps it', async () => {
      const worker = world.process();
      const consumer = await worker.consume(forEver);
      await world.add(0);
      worker.ledger.cut();
      expect(worker.ledger.abandoned).toBe(0);
      await world.stopped(consumer, 100);
      expect(worker.ledger.abandoned).toBe(1);
    });

    it('a second time, is the same stop', async () => {
      const consumer = await world.process().consume(forEver);
      await world.add(0);
      const first = consumer.stop(500);
      expect(consumer.stop(60_000)).toBe(first);
      await clock.advance(1_000);
      await first;
    });
  });
});
