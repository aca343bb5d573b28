import { describe, expect, it } from '@jest/globals';
import { heldDelivery, recordingLane } from '../../../spec-support/recording-lane.js';
import { clock, consumingInEachTest, forEver, world } from '../../../spec-support/consuming.js';
import { turn } from '../../../spec-support/scripted-ledger.js';
import { runOf, tubeContext } from '../../../spec-support/tube-context.js';
import { VirtualClock } from 'nest-handlers/testing';
import type { DelayedJob, HandlerMethod } from '../../api/job.js';
import { Retry } from '../../api/outcome.js';
import { RunningJob } from './run.js';

describe('the progress of a job', () => {
  consumingInEachTest();

  /** Runs a job, and returns what its handler got, what the ledger was asked, and the job as others see it. */
  async function running(handler: HandlerMethod = forEver, process = world.process()) {
    const jobs: DelayedJob[] = [];
    await process.consume(
      (payload, job) => {
        jobs.push(job);
        return handler(payload, job);
      },
      { backoff: { type: 'fixed', delay: '5s', jitter: 0 } },
    );
    const receipt = await world.add(0);
    await world.settle();
    const find = async () => {
      const found = world.producer.find(receipt);
      await clock.advance(0);
      return found;
    };
    const written = () => process.ledger.asked.filter((call) => call.startsWith('progress'));
    return { job: jobs[0]!, jobs, receipt, find, written, process };
  }

  it('asks the ledger for nothing unless a handler reports some', async () => {
    const { find, written } = await running();
    await clock.advance(10_000);
    expect(written()).toEqual([]);
    expect(await find()).toMatchObject({ state: 'running' });
    expect(await find()).not.toHaveProperty('progress');
  });

  it('is found by others a second later, with the time of the report', async () => {
    const { job, find } = await running();
    await clock.advance(2_500);
    const at = new Date(clock.wall());
    expect(job.progress(0.4, 'page 12 of 30')).toBeUndefined();
    await clock.advance(999);
    expect(await find()).not.toHaveProperty('progress');
    await clock.advance(1);
    expect(await find()).toMatchObject({ progress: { fraction: 0.4, note: 'page 12 of 30', at } });
  });

  it('is written once a second, and only the latest report', async () => {
    const { job, receipt, written, process } = await running();
    for (let i = 1; i <= 40; i++) {
      job.progress(i / 100);
      await clock.advance(50);
    }
    expect(written()).toEqual([`progress ${receipt.id} 0.2`, `progress ${receipt.id} 0.4`]);
    await clock.advance(60_000);
    expect(written()).toHaveLength(2);
    expect(process.reports).toEqual([]);
  });

  it('is gone when the run is over, and the next attempt starts without', async () => {
    let attempts = 0;
    const { jobs, find, written } = await running(async (_payload, job) => {
      attempts++;
      if (attempts > 1) return forEver();
      job.progress(0.9, 'nearly');
      await new Promise<void>((resolve) => clock.after(1_500, resolve));
      throw Retry.after('5s');
    });
    await clock.advance(1_400);
    expect(await find()).toMatchObject({ state: 'running', progress: { fraction: 0.9 } });
    await clock.advance(1_000);
    expect(await find()).toMatchObject({ state: 'retrying' });
    expect(await find()).not.toHaveProperty('progress');
    await clock.advance(10_000);
    expect(jobs).toHaveLength(2);
    expect(await find()).toMatchObject({ state: 'running', attempt: 2 });
    expect(await find()).not.toHaveProperty('progress');
    jobs[0]!.progress(1); // its handler has returned long ago
    await clock.advance(5_000);
    expect(written()).toHaveLength(1);
  });

  it('is lost without a word while the ledger is away, and the run continues', async () => {
    const { job, find, process } = await running();
    process.ledger.cut();
    job.progress(0.3);
    await clock.advance(3_000);
    process.ledger.restore();
    await clock.advance(3_000);
    expect(await find()).not.toHaveProperty('progress');
    expect([process.reports, job.signal.aborted]).toEqual([[], false]);
    job.progress(0.5);
    await clock.advance(1_000);
    expect(await find()).toMatchObject({ progress: { fraction: 0.5 } });
  });

  it('is each job’s own in a batch', async () => {
    const process = world.process();
    await process.consumeBatches({ size: 2 }, async (_payloads, jobs) => {
      for (const [i, job] of jobs.entries()) job.progress((i + 1) / 4, `row ${i}`);
      await forEver();
    });
    const receipts = await world.addMany(2, 0);
    await clock.advance(1_500);
    const found = Promise.all(receipts.map((receipt) => world.producer.find(receipt)));
    await clock.advance(0);
    expect((await found).map((job) => job?.progress)).toEqual(
      expect.arrayContaining([
        { fraction: 0.25, note: 'row 0', at: expect.any(Date) },
        { fraction: 0.5, note: 'row 1', at: expect.any(Date) },
      ]),
    );
  });

  it.each([
    [NaN, undefined, 'the progress of a job of "tube" is NaN: expected a number from 0 to 1'],
    [Infinity, undefined, 'is Infinity: expected a number from 0 to 1'],
    [1.01, undefined, 'is 1.01: expected a number from 0 to 1'],
    [-0.1, undefined, 'is -0.1: expected a number from 0 to 1'],
    ['0.4', undefined, 'is "0.4": expected a number from 0 to 1'],
    [0.4, 12, 'the note on the progress of a job of "tube" is 12: expected a string'],
    [0.4, null, 'the note on the progress of a job of "tube" is null: expected a string'],
  ])('is refused if it is %j with the note %j', async (fraction, note, message) => {
    const { job, written } = await running();
    const report = () => job.progress(fraction as number, note as string | undefined);
    expect(report).toThrow(expect.objectContaining({ code: 'DQ_BAD_OPTION' }));
    expect(report).toThrow(message);
    await clock.advance(2_000);
    expect(written()).toEqual([]);
  });
});

describe('a report', () => {
  /** Reports for these jobs at once. Resolves with the requests of each call that this made. */
  async function reported(ids: string[], note: string, seal?: { settings: { encrypt: boolean } }) {
    const clock = new VirtualClock();
    const context = tubeContext(clock, { cluster: { settings: { seal } } as never });
    for (const id of ids) {
      const run = runOf(heldDelivery(recordingLane().lane, { id }));
      new RunningJob(run, context, undefined, 3, 0, {}).progress(0.5, note);
    }
    await clock.advance(1_000);
    await turn();
    return context.ledger.reported.map(({ requests }) => requests);
  }
  const noted = async (...given: [note: string, seal?: { settings: { encrypt: boolean } }]) =>
    (await reported(['a'], ...given))[0]![0]!.progress;

  it('is written together with those of other jobs, and names its run by the fence', async () => {
    const progress = { fraction: 0.5, note: 'x', at: 0 };
    expect(await reported(['a', 'b'], 'x')).toEqual([
      [
        { id: 'a', fence: 11, progress },
        { id: 'b', fence: 11, progress },
      ],
    ]);
  });

  it.each([
    ['x'.repeat(201), 'x'.repeat(200)],
    [`${'x'.repeat(199)}😀`, `${'x'.repeat(199)}\uFFFD`],
    ['', undefined],
  ])('has its note cut after 200 characters: %j', async (note, kept) => {
    expect((await noted(note)).note).toBe(kept);
  });

  it('has no note if the cluster encrypts its jobs', async () => {
    expect(await noted('x', { settings: { encrypt: true } })).toEqual({ fraction: 0.5, at: 0 });
    expect((await noted('x', { settings: { encrypt: false } })).note).toBe('x');
  });
});
