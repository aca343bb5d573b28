import { describe, expect, it } from '@jest/globals';
import type { JobReceipt } from '../../api/job.js';
import { Again } from '../../api/outcome.js';
import type { CompleteRequest } from '../../ledger/requests.js';
import {
  NONE,
  clock,
  consumingInEachTest,
  world,
  type ConsumingProcess,
} from '../../../spec-support/consuming.js';
import { noting, once, type Seen } from '../../../spec-support/noting.js';

consumingInEachTest();

/** Replaces a process's calls of `complete` with the outcome `again`. */
function onAgain(
  worker: ConsumingProcess,
  change: (complete: () => Promise<unknown>, run: number) => Promise<unknown>,
): void {
  const tube = worker.ledger.tube('tube');
  const complete = tube.complete.bind(tube);
  let asked = 0;
  tube.complete = async (requests: readonly CompleteRequest[]) => {
    if (requests[0]!.outcome.kind !== 'again') return complete(requests);
    return (await change(() => complete(requests), ++asked)) as Awaited<ReturnType<typeof complete>>;
  };
}

describe('The completion of an Again', () => {
  it('at once is at once, although this process still ends the run when the new copies surface', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    onAgain(worker, async (complete) => {
      await new Promise<void>((resolve) => void clock.after(30, resolve));
      return complete();
    });
    await worker.consume(noting(clock, runs, once(Again.after(0))));
    await world.add(1_000);
    await clock.advance(1_130);
    expect(runs).toHaveLength(2);
    await clock.advance(20_000);
    expect(runs).toHaveLength(2);
    expect(await world.copies()).toEqual(NONE);
  });

  it('brings nothing where the job is revoked between its storing and its complete', async () => {
    const runs: Seen[] = [];
    const worker = world.process();
    const receipts: JobReceipt[] = [];
    onAgain(worker, async (complete) => {
      await world.ledger
        .tube('tube')
        .revoke([{ id: receipts[0]!.id, born: 0, due: 0, owed: { mask: 7, unknown: false }, abort: false }]);
      return complete();
    });
    await worker.consume(noting(clock, runs, () => Again.after('10s')));
    receipts.push(await world.add(1_000));
    await clock.advance(1_000);
    await world.settle();
    await clock.advance(500);
    expect(await world.copies()).toEqual(NONE); // long before any of them would surface
    await clock.advance(60_000);
    expect(runs).toHaveLength(1);
  });

  it.each([
    ['never arrives', false],
    ['arrives, but its answer is lost', true],
  ])('runs again where its first complete %s', async (_how, acts) => {
    const runs: Seen[] = [];
    const worker = world.process();
    onAgain(worker, async (complete, asked) => {
      if (asked > 1) return complete();
      if (acts) await complete();
      worker.ledger.cut();
      throw new Error('no answer');
    });
    await worker.consume(noting(clock, runs, once(Again.after('10s'))));
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
      noting(clock, runs, () => new Promise((resolve) => ends.push(resolve))),
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

  it('is dropped with its copies when its complete comes too late: another run has taken over', async () => {
    const runs: Seen[] = [];
    const [slow, other] = [world.process(), world.process()];
    onAgain(slow, async (complete, asked) => {
      if (asked === 1) slow.ledger.cut();
      return complete();
    });
    await slow.consume(noting(clock, runs, () => Again.after('60s')));
    await world.add(0);
    await other.consume(noting(clock, runs, () => undefined));
    await clock.advance(25_000);
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
      noting(
        clock,
        runs,
        () => new Promise((resolve) => void clock.after(200, () => resolve(Again.after('10s')))),
      ),
    );
    const { dueAt } = await world.add(0);
    const took = await world.stopped(consumer, 5_000);
    expect(took).toBeGreaterThanOrEqual(600);
    expect(took).toBeLessThan(700);
    expect(await world.copies()).toEqual({ ...NONE, delayed: 3 });
    await world.process().consume(noting(clock, runs, () => undefined));
    await clock.advance(20_000);
    expect(runs.map(({ at }) => at - dueAt.getTime())).toEqual([0, 10_200]);
  });
});
