import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Connection, type Stats } from '../beanstalk/connection.js';
import { ClusterNode } from '../cluster/cluster-node.js';
import { Cluster } from '../cluster/cluster.js';
import { EmbeddedNode } from '../embedded/embedded-node.js';
import { JobEnvelope } from '../envelope.js';
import type { DqError } from '../errors.js';
import {
  Discard,
  type DelayedJob,
  type HandlerMethod,
  type HandlerOptions,
  type JobReceipt,
} from '../job.js';
import { MemoryLedger } from '../ledger/memory-ledger.js';
import { SettleQueue } from '../ledger/settle-queue.js';
import { ClusterProducer } from '../producer.js';
import { SwitchableLedger } from '../testing/switchable-ledger.js';
import { VirtualClock } from '../testing/virtual-clock.js';
import { resolveHandlerOptions } from './handler-settings.js';
import type { ConsumerReport } from './report.js';
import { TubeConsumer } from './tube-consumer.js';

const LEASE = 15_000;
const BACKUP_DELAY = 2_000;

describe('TubeConsumer', () => {
  let clock: VirtualClock;
  let servers: EmbeddedNode[];
  let ledger: MemoryLedger;
  let processes: Process[];
  let producer: ClusterProducer;
  let observers: Connection[];

  beforeEach(async () => {
    clock = new VirtualClock();
    servers = Array.from({ length: 3 }, () => new EmbeddedNode(clock));
    const settings = { lease: LEASE, doneTtl: 600_000, staleAfter: 604_800_000 };
    ledger = new MemoryLedger({ settings, clock });
    processes = [];
    observers = servers.map((server) => new Connection(server.dial(), { clock, deadline: 1e12 }));
    producer = new Process().producer;
    await settle();
  });

  afterEach(async () => {
    const stopped = Promise.all(processes.map(async ({ consumer }) => consumer?.stop(0)));
    await clock.advance(10_000);
    await stopped;
    for (const { cluster, settleQueue } of processes) {
      settleQueue.close();
      cluster.close();
    }
    for (const server of servers) server.close();
    await settle();
  });

  /** One process on the same nodes and ledger. */
  class Process {
    readonly cluster = new Cluster(
      servers.map((server, i) => new ClusterNode(`n${i}`, () => server.dial(), clock)),
      { replicas: 3, minWritten: 2 },
    );
    readonly ledger = new SwitchableLedger(ledger);
    readonly settleQueue = new SettleQueue(ledger, clock);
    readonly producer = new ClusterProducer(this.cluster, ledger, this.settleQueue, clock, {
      prefix: '',
      backupDelay: BACKUP_DELAY,
    });
    readonly reports: string[] = [];
    consumer: TubeConsumer | undefined;

    constructor() {
      this.cluster.start();
      processes.push(this);
    }

    /** A consumer of the tube that is not started. */
    prepare(handler: HandlerMethod, options: HandlerOptions = {}): TubeConsumer {
      const report: ConsumerReport = {
        failed: (job, error, retryAt) =>
          this.reports.push(`failed ${job.attempt} ${error.message} ${retryAt ? 'retry' : 'end'}`),
        dead: (_tube, _id, { why }) => this.reports.push(`dead ${why}`),
        poison: (_tube, node) => this.reports.push(`poison ${node}`),
        leaseLost: (_tube, _id, attempt) => this.reports.push(`lease lost ${attempt}`),
        nodeTrouble: (node) => this.reports.push(`trouble ${node}`),
      };
      const { cluster, ledger: way, settleQueue } = this;
      this.consumer = new TubeConsumer(
        'tube',
        handler,
        resolveHandlerOptions(options),
        { prefix: '', backupDelay: BACKUP_DELAY, lease: LEASE },
        { cluster, ledger: way, settleQueue, clock, report },
      );
      return this.consumer;
    }

    async consume(handler: HandlerMethod, options?: HandlerOptions): Promise<TubeConsumer> {
      const consumer = this.prepare(handler, options);
      consumer.start();
      await settle();
      return consumer;
    }
  }

  async function settle(): Promise<void> {
    for (let i = 0; i < 5; i++) await clock.advance(0);
  }

  async function add(delay: number, options = {}): Promise<JobReceipt> {
    const added = producer.delay('tube', { some: 'payload' }, delay, options);
    await settle();
    return added;
  }

  async function addMany(count: number, delay: number): Promise<JobReceipt[]> {
    const added = Promise.all(Array.from({ length: count }, () => producer.delay('tube', {}, delay)));
    await settle();
    return added;
  }

  /** How many copies there are of each kind, all nodes together. */
  async function copies(): Promise<Record<'ready' | 'reserved' | 'delayed' | 'buried', number>> {
    const sums = { ready: 0, reserved: 0, delayed: 0, buried: 0 };
    for (const observer of observers) {
      const asked = observer.ask<Stats>((done) => observer.stats(done));
      await settle();
      const stats = await asked;
      for (const kind of Object.keys(sums) as (keyof typeof sums)[]) {
        sums[kind] += Number(stats[`current-jobs-${kind}`]);
      }
    }
    return sums;
  }

  /** Reserves that wait, all nodes together. */
  async function waits(): Promise<number> {
    let sum = 0;
    for (const observer of observers) {
      const asked = observer.ask<Stats>((done) => observer.stats(done));
      await settle();
      sum += Number((await asked)['current-waiting']);
    }
    return sum;
  }

  const NONE = { ready: 0, reserved: 0, delayed: 0, buried: 0 };
  const forEver = () => new Promise<never>(() => undefined);
  const count = (texts: readonly string[], text: string) => texts.filter((each) => each === text).length;

  describe('runs a job', () => {
    it('once, at its millisecond, and leaves no copy behind', async () => {
      const starts: number[] = [];
      await new Process().consume(() => void starts.push(clock.wall()));
      const { dueAt, copies: stored } = await add(3_210);
      expect(stored).toBe(3);
      await clock.advance(3_209);
      expect(starts).toEqual([]);
      await clock.advance(1);
      expect(starts).toEqual([dueAt.getTime()]);
      await settle();
      expect(await copies()).toEqual(NONE);
      await clock.advance(60_000);
      expect(starts).toHaveLength(1);
    });

    it('at once when it is due at once', async () => {
      let starts = 0;
      await new Process().consume(() => void starts++);
      await add(0);
      expect(starts).toBe(1);
    });

    it('once where two processes wait for it', async () => {
      const starts: string[] = [];
      for (const name of ['a', 'b'])
        await new Process().consume((_payload, { id }) => void starts.push(`${name} ${id}`));
      const receipts = await addMany(40, 1_000);
      await clock.advance(10_000);
      expect(starts.map((start) => start.slice(2)).toSorted()).toEqual(
        receipts.map(({ id }) => id).toSorted(),
      );
      expect(await copies()).toEqual(NONE);
    });

    it('from a backup, once its stagger is over, when the node of its primary is gone', async () => {
      const starts: number[] = [];
      await new Process().consume((_payload, job) => void starts.push(job.lateness));
      const { ids } = await add(2_000);
      const places = (JSON.parse(Buffer.from(ids.slice(4), 'base64url').toString()) as unknown[])[5];
      const [, primary] = (places as [number, string][]).find(([index]) => index === 0)!;
      servers[Number(primary[1])]!.close();
      await clock.advance(2_000 + BACKUP_DELAY + 1_000);
      expect(starts).toHaveLength(1);
      expect(starts[0]).toBeGreaterThanOrEqual(BACKUP_DELAY - 1_000);
    });

    it('from whichever node, with fewer slots than nodes', async () => {
      let starts = 0;
      const worker = new Process();
      await worker.consume(() => void starts++, { concurrency: 1 });
      expect(await waits()).toBe(3);
      await addMany(9, 1_000);
      await clock.advance(1_000);
      await settle();
      expect(starts).toBe(9);
    });

    it('no more at once than it has slots', async () => {
      let now = 0;
      let most = 0;
      const ends: (() => void)[] = [];
      await new Process().consume(
        () => {
          most = Math.max(most, ++now);
          return new Promise<void>((resolve) => ends.push(resolve)).then(() => void now--);
        },
        { concurrency: 3 },
      );
      await addMany(10, 500);
      await clock.advance(600);
      expect(ends).toHaveLength(3);
      for (let i = 0; i < 10; i++) {
        ends[i]!();
        await clock.advance(500);
      }
      expect(ends).toHaveLength(10);
      expect(most).toBe(3);
      expect(await copies()).toEqual(NONE);
    });
  });

  describe('retries', () => {
    it.each([
      ['that is held', 700],
      ['that goes back to its node meanwhile', 3_300],
    ])('after the backoff, to the millisecond, a job %s', async (_how, delay) => {
      const starts: [time: number, attempt: number][] = [];
      await new Process().consume(
        (_payload, { attempt, dueAt }) => {
          expect(dueAt.getTime()).toBe(clock.wall());
          starts.push([clock.wall(), attempt]);
          if (attempt < 3) throw new Error('no');
        },
        { backoff: { type: 'fixed', delay, jitter: 0 } },
      );
      const due = (await add(1_000)).dueAt.getTime();
      await clock.advance(30_000);
      expect(starts).toEqual([
        [due, 1],
        [due + delay, 2],
        [due + 2 * delay, 3],
      ]);
      expect(await copies()).toEqual(NONE);
    });

    it('until the attempts are used up; then every copy is buried, and one death is told', async () => {
      const worker = new Process();
      let starts = 0;
      await worker.consume(
        () => {
          starts++;
          throw new Error('no');
        },
        { attempts: 2, backoff: { type: 'fixed', delay: 500, jitter: 0 } },
      );
      await add(1_000);
      await clock.advance(60_000);
      expect(starts).toBe(2);
      expect(worker.reports).toEqual(['failed 1 no retry', 'failed 2 no end', 'dead attempts']);
      expect(await copies()).toEqual({ ...NONE, buried: 3 });
    });

    it('never what was discarded', async () => {
      const worker = new Process();
      let starts = 0;
      await worker.consume(() => {
        starts++;
        return Discard.because('gone');
      });
      await add(1_000);
      await clock.advance(60_000);
      expect(starts).toBe(1);
      expect(worker.reports).toEqual(['failed 1 gone end', 'dead discarded']);
      expect(await copies()).toEqual({ ...NONE, buried: 3 });
    });
  });

  it('sends a copy back by its own header, without asking the ledger, when its node’s clock ran ahead', async () => {
    const worker = new Process();
    await worker.consume(() => undefined);
    const due = clock.wall() + 3_600_000;
    const job = { id: 'ahead', due, generation: 0, copies: 1, priority: 1 };
    const body = new JobEnvelope(job, { type: 'void', bytes: Buffer.alloc(0) }).copy(0);
    observers[0]!.put('tube', body, { priority: 1, delay: 0, ttr: 60 }, () => undefined);
    await clock.advance(60_000);
    expect(worker.ledger.asked).toEqual([]);
    expect(await copies()).toEqual({ ...NONE, delayed: 1 });
  });

  it('listens to the ledger once, however often it is started', async () => {
    const worker = new Process();
    const listen = jest.spyOn(worker.ledger.tube('tube'), 'listen');
    const consumer = await worker.consume(() => undefined);
    consumer.start();
    await settle();
    expect(listen).toHaveBeenCalledTimes(1);
    expect(await waits()).toBe(3);
  });

  it('asks nothing about the other copies of a job that it runs: they go for a lease and their stagger', async () => {
    const worker = new Process();
    await worker.consume(forEver);
    const { id } = await add(1_000);
    await clock.advance(8_000);
    expect(count(worker.ledger.asked, `claim ${id}`)).toBe(1);
    expect(await copies()).toEqual({ ...NONE, reserved: 1, delayed: 2 });
    await clock.advance(60_000);
    expect(count(worker.ledger.asked, `claim ${id}`)).toBe(1);
    expect(await copies()).toEqual({ ...NONE, reserved: 1, delayed: 2 });
  });

  it('keeps a long run for as long as it takes: extended every third of the lease, touched, and run by nobody else', async () => {
    const [one, two] = [new Process(), new Process()];
    let starts = 0;
    let end: (() => void) | undefined;
    for (const worker of [one, two]) {
      await worker.consume(() => {
        starts++;
        return new Promise<void>((resolve) => (end = resolve));
      });
    }
    const { id } = await add(1_000);
    await clock.advance(301_000);
    const extended = count([...one.ledger.asked, ...two.ledger.asked], `extend ${id}`);
    expect(extended).toBeGreaterThanOrEqual(59);
    expect(starts).toBe(1);
    end!();
    await clock.advance(61_000);
    expect(starts).toBe(1);
    expect(await copies()).toEqual(NONE);
  });

  describe('while the ledger is away', () => {
    it('runs nothing, and gives everything to others after a second, at once', async () => {
      const [cut, healthy] = [new Process(), new Process()];
      const starts: string[] = [];
      await cut.consume((_payload, { id }) => void starts.push(`cut ${id}`), { concurrency: 50 });
      const receipts = await addMany(20, 3_000);
      await clock.advance(2_500);
      expect((await copies()).reserved).toBeGreaterThan(0);
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
      expect(await copies()).toEqual(NONE);
    });

    it('reserves no more, and lets go at once of what an open wait still brings', async () => {
      const worker = new Process();
      await worker.consume(forEver);
      worker.ledger.cut();
      await clock.advance(1_000);
      await addMany(9, 0);
      await clock.advance(30_000);
      expect(await copies()).toEqual({ ...NONE, ready: 27 });
    });

    it('tells what it runs first when it is back, claims nothing for two seconds, then goes on', async () => {
      const worker = new Process();
      const starts: string[] = [];
      let end: (() => void) | undefined;
      await worker.consume((_payload, { id }) => {
        starts.push(id);
        if (starts.length === 1) return new Promise<void>((resolve) => (end = resolve));
        return starts.length === 2 ? forEver() : undefined;
      });
      const ended = await add(0);
      const running = await add(0);
      worker.ledger.cut();
      end!();
      await clock.advance(4_000);
      const late = await add(0);
      worker.ledger.asked.length = 0;
      worker.ledger.restore();
      await settle();
      expect(worker.ledger.asked).toContain(`finish ${ended.id} done`);
      expect(worker.ledger.asked).toContain(`extend ${running.id}`);
      await clock.advance(1_999);
      expect(worker.ledger.asked.filter((text) => text.startsWith('claim'))).toEqual([]);
      expect(starts).toEqual([ended.id, running.id]);
      await clock.advance(2_000);
      expect(starts).toEqual([ended.id, running.id, late.id]);
    });

    it('pauses for the two seconds anew when it was away again meanwhile', async () => {
      const worker = new Process();
      let starts = 0;
      await worker.consume(() => void starts++);
      worker.ledger.cut();
      await clock.advance(3_000);
      await add(0);
      worker.ledger.restore();
      await clock.advance(1_500);
      worker.ledger.cut();
      await clock.advance(100);
      worker.ledger.restore();
      await clock.advance(1_999);
      expect(starts).toBe(0);
      await clock.advance(1_000);
      expect(starts).toBe(1);
    });

    it('keeps what it holds where the ledger is back within the second', async () => {
      const worker = new Process();
      const starts: number[] = [];
      await worker.consume((_payload, { lateness }) => void starts.push(lateness));
      await add(1_500);
      await clock.advance(1_400);
      worker.ledger.cut();
      await clock.advance(900);
      worker.ledger.restore();
      await clock.advance(2_000);
      expect(starts).toEqual([2_800]);
    });

    it('does not begin; it begins two seconds after the ledger is there', async () => {
      const worker = new Process();
      worker.ledger.away = true;
      await worker.consume(forEver);
      worker.ledger.cut();
      const { id } = await add(0);
      await clock.advance(20_000);
      expect(await copies()).toEqual({ ...NONE, ready: 3 });
      worker.ledger.restore();
      await clock.advance(1_999);
      expect(worker.ledger.asked).toEqual([]);
      await clock.advance(1_000);
      expect(worker.ledger.asked).toContain(`claim ${id}`);
      await clock.advance(LEASE);
      expect(count(worker.ledger.asked, `extend ${id}`)).toBeGreaterThanOrEqual(2);
    });

    it('does not begin where only the listeners of other tubes heard of it', async () => {
      const worker = new Process();
      // Time was read before, so only `away` tells.
      const consumer = worker.prepare(() => undefined);
      worker.ledger.tube('tube').readTime = () => Promise.resolve();
      worker.ledger.away = true;
      consumer.start();
      await addMany(5, 0);
      await clock.advance(5_000);
      expect(await copies()).toEqual({ ...NONE, ready: 15 });
    });
  });

  it('tells of a lost lease too when the handler ended before anybody could ask', async () => {
    const [silent, other] = [new Process(), new Process()];
    let end: (() => void) | undefined;
    let runs = 0;
    await silent.consume(() => {
      runs++;
      return new Promise<void>((resolve) => (end = resolve));
    });
    await add(0);
    silent.ledger.cut();
    await other.consume(() => void runs++);
    await clock.advance(LEASE + 10_000);
    expect(runs).toBe(2);
    end!();
    await settle();
    expect(silent.reports).toEqual([]);
    silent.ledger.restore();
    await settle();
    expect(silent.reports).toEqual(['lease lost 1']);
  });

  it('refuses the outcome of a run that was silent for longer than its lease, and raises its signal', async () => {
    const [silent, other] = [new Process(), new Process()];
    const jobs: DelayedJob[] = [];
    let end: (() => void) | undefined;
    await silent.consume((_payload, job) => {
      jobs.push(job);
      return new Promise<void>((resolve) => (end = resolve));
    });
    const { id } = await add(0);
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
    await settle();
    expect((jobs[0]!.signal.reason as DqError).code).toBe('DQ_LEASE_LOST');
    expect(silent.reports).toContain('lease lost 1');
    end!();
    await clock.advance(60_000);
    expect(jobs).toHaveLength(2);
    expect(await copies()).toEqual(NONE);
  });

  describe('when it is stopped', () => {
    /** Ends the stop and tells how long it took. */
    async function stopped(consumer: TubeConsumer, limit: number): Promise<number> {
      const began = clock.now();
      let took: number | undefined;
      void consumer.stop(limit).then(() => (took = clock.now() - began));
      for (let i = 0; i < 1_000 && took === undefined; i++) await clock.advance(20);
      if (took === undefined) throw new Error('it never stopped');
      return took;
    }

    it('lets a handler end, takes its outcome, and is done as soon as that is', async () => {
      const consumer = await new Process().consume(
        () => new Promise<void>((resolve) => void clock.after(300, resolve)),
      );
      await add(0);
      expect(await stopped(consumer, 10_000)).toBeLessThan(400);
      expect(await copies()).toEqual(NONE);
    });

    it('gives back at once what it has not begun', async () => {
      const consumer = await new Process().consume(forEver, { concurrency: 1 });
      await add(0);
      await addMany(5, 900);
      await clock.advance(500);
      expect((await copies()).reserved).toBe(6);
      const stopping = consumer.stop(60_000);
      await settle();
      expect(await copies()).toMatchObject({ reserved: 1, ready: 5 });
      await clock.advance(61_000);
      await stopping;
    });

    it('aborts at the limit what still runs, and gives the attempt back', async () => {
      const jobs: DelayedJob[] = [];
      const one = await new Process().consume(
        (_payload, job) => {
          jobs.push(job);
          return forEver();
        },
        { attempts: 1 },
      );
      const { id } = await add(0);
      await new Process().consume((_payload, job) => void jobs.push(job), { attempts: 1 });
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
      const worker = new Process();
      const consumer = await worker.consume(
        (_payload, { signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          ),
        { attempts: 1 },
      );
      const { id } = await add(0);
      await stopped(consumer, 500);
      expect(worker.ledger.asked.at(-1)).toBe(`finish ${id} back`);
      expect(worker.reports).toEqual([]);
      expect((await copies()).buried).toBe(0);
    });

    it('gives back what a claim brings afterwards, without running it', async () => {
      const worker = new Process();
      let starts = 0;
      const consumer = await worker.consume(() => void starts++);
      await add(0);
      starts = 0;
      const tube = worker.ledger.tube('tube');
      const claim = tube.claim.bind(tube);
      let answer: (() => void) | undefined;
      tube.claim = async (...request) => {
        const answers = await claim(...request);
        await new Promise<void>((resolve) => (answer = resolve));
        return answers;
      };
      const { id } = await add(0);
      const stopping = stopped(consumer, 5_000);
      await settle();
      answer!();
      await stopping;
      expect(starts).toBe(0);
      expect(worker.ledger.asked.at(-1)).toBe(`finish ${id} back`);
    });

    it('lets go at once of what was claimed without an answer', async () => {
      const worker = new Process();
      await worker.consume(forEver);
      const tube = worker.ledger.tube('tube');
      let fail: (() => void) | undefined;
      tube.claim = () => new Promise((_resolve, reject) => (fail = () => reject(new Error('no answer'))));
      await add(0);
      worker.ledger.cut();
      await clock.advance(1_000);
      expect((await copies()).reserved).toBe(1);
      fail!();
      await settle();
      expect((await copies()).reserved).toBe(0);
    });

    it('before it was started, does nothing, and cannot be started any more', async () => {
      const worker = new Process();
      let starts = 0;
      const consumer = worker.prepare(() => void starts++);
      expect(await stopped(consumer, 1_000)).toBe(0);
      consumer.start();
      await add(0);
      await clock.advance(10_000);
      expect(starts).toBe(0);
      expect(await copies()).toEqual({ ...NONE, ready: 3 });
    });

    it('a second time, is the same stop', async () => {
      const consumer = await new Process().consume(forEver);
      await add(0);
      const first = consumer.stop(500);
      expect(consumer.stop(60_000)).toBe(first);
      await clock.advance(1_000);
      await first;
    });
  });
});
