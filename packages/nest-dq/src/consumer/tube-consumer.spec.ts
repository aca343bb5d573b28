import { describe, expect, it, jest } from '@jest/globals';
import { JobEnvelope } from '../copies/formats/dq1.js';
import { Discard } from '../api/outcome.js';
import { copyBody } from '../../spec-support/copy-body.js';
import {
  BACKUP_DELAY,
  NONE,
  clock,
  consumingInEachTest,
  forEver,
  world,
} from '../../spec-support/consuming.js';

const LEASE = 15_000;

describe('TubeConsumer', () => {
  consumingInEachTest();

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

    it('under another grant, as the same attempt, after waiting for a handler that blocked for almost a lease', async () => {
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
      expect(worker.ledger.asked).toContain(`complete ${runs[1]!.split(' ')[0]} back`);
      await clock.advance(2 * LEASE); // a backup that surfaced meanwhile was released for so long
      expect(await world.copies()).toEqual(NONE);
      expect(worker.reports).toEqual([]);
    });

    it.each([
      ['runs what', LEASE - 1_000, 'done'],
      ['hands back what', LEASE - 999, 'back'],
    ])('%s was granted %i ms ago when the answer comes', async (_what, took, end) => {
      const worker = world.process();
      await worker.consume(() => undefined);
      const tube = worker.ledger.tube('tube');
      const claim = tube.claim.bind(tube);
      tube.claim = async (...request) => {
        tube.claim = claim;
        const answers = await claim(...request);
        await new Promise<void>((resolve) => void clock.after(took, resolve));
        return answers;
      };
      const complete = jest.spyOn(tube, 'complete');
      const { id } = await world.add(0);
      const askedAt = clock.wall();
      await clock.advance(LEASE);
      expect(complete.mock.calls[0]![0][0]!.lastOk).toBe(askedAt); // when the lease began at the earliest
      expect(worker.ledger.asked.find((text) => text.startsWith('complete'))).toBe(`complete ${id} ${end}`);
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
      ['that is released meanwhile', 3_300],
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

    it('until the attempts are used up; then every copy is buried, and one death is reported', async () => {
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

  it('soon leaves no copy that a process held while the job ran', async () => {
    await world.addMany(20, 1_000);
    await clock.advance(10_000); // all copies are ready
    let ran = 0;
    for (const worker of [world.process(), world.process()]) {
      await worker.consume(async () => {
        await new Promise<void>((resolve) => clock.after(500, resolve));
        ran++;
      });
    }
    await clock.advance(3_000);
    expect(ran).toBe(20);
    expect(await world.copies()).toEqual(NONE);
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
    const asked = [...one.ledger.asked, ...two.ledger.asked];
    expect(count(asked, `extend ${id}`)).toBeGreaterThanOrEqual(59);
    expect(count(asked, `claim ${id}`)).toBeLessThanOrEqual(15); // its backups ask ever more seldom, up to a minute
    expect(starts).toBe(1);
    end!();
    await clock.advance(61_000);
    expect(starts).toBe(1);
    expect(await world.copies()).toEqual(NONE);
  });
});
