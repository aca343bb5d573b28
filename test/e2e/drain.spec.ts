import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { isEmpty, record, schedule, startOf, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';

const suite = clusterSuite();

describe('a drain', () => {
  it('lets handlers end, and their outcome counts', async () => {
    const tube = 'short';
    const [ended, elsewhere]: [Start[], Start[]] = [[], []];
    const one = suite.start({ shutdownTimeout: 30_000 });
    const ends: (() => void)[] = [];
    await one.consumer.consume(tube, async (_payload, job) => {
      await new Promise<void>((resolve) => ends.push(resolve));
      ended.push(startOf(job));
    });
    const receipts = await schedule(one, tube, 5, () => Date.now());
    await eventually('they run', () => ends.length === 5);
    const two = suite.start();
    await record(two, tube, elsewhere);
    const stopping = one.consumer.stop();
    for (const end of ends) end();
    await stopping;
    expect(ended).toHaveLength(5);
    await eventually('no copy is left', () => isEmpty(two, tube));
    expect(elsewhere).toEqual([]);
    for (const receipt of receipts) await expect(two.producer.revoke(receipt)).resolves.toBe('done');
  }, 60_000);

  it('raises the signal of a long one at its limit, and another process runs its job as the same attempt', async () => {
    const tube = 'long';
    const starts: Start[] = [];
    const one = suite.start({ shutdownTimeout: 500 });
    let first: Start | undefined;
    let signal: AbortSignal | undefined;
    await one.consumer.consume(
      tube,
      (_payload, job) => {
        first = startOf(job);
        signal = job.signal;
        return new Promise((resolve, reject) => {
          const timer = setTimeout(resolve, 60_000);
          job.signal.addEventListener('abort', () => {
            clearTimeout(timer);
            reject(job.signal.reason as Error);
          });
        });
      },
      { attempts: 1 },
    );
    const [receipt] = await schedule(one, tube, 1, () => Date.now());
    await eventually('it runs', () => first !== undefined);
    const two = suite.start();
    await two.consumer.consume(tube, (_payload, job) => void starts.push(startOf(job)), { attempts: 1 });
    const stopping = one.consumer.stop();
    expect(signal!.aborted).toBe(false);
    await stopping;
    expect(signal!.reason).toMatchObject({ code: 'DQ_SHUTDOWN' });
    await eventually('the other ran it', () => starts.length === 1);
    expect(starts[0]).toMatchObject({ id: receipt!.id, attempt: 1 });
    expect(starts[0]!.fence).toBeGreaterThan(first!.fence);
    await eventually('no copy is left', () => isEmpty(two, tube));
    // A busy machine may have blocked the event loop.
    const logged = one.log.filter((line) => line.includes(' of long ') && !line.includes('was blocked'));
    expect(logged).toEqual([expect.stringMatching(/^1 handler of long is still running/)]);
    expect(starts).toHaveLength(1);
  }, 60_000);

  it('gives back even the job of a handler that ignores its signal', async () => {
    const tube = 'deaf';
    const starts: Start[] = [];
    const one = suite.start({ shutdownTimeout: 200 });
    let begun = false;
    await one.consumer.consume(tube, () => {
      begun = true;
      return new Promise(() => undefined);
    });
    await schedule(one, tube, 1, () => Date.now());
    await eventually('it runs', () => begun);
    await one.consumer.stop();
    const two = suite.start();
    await record(two, tube, starts);
    await eventually('the other ran it', () => starts.length === 1);
    expect(starts[0]!.attempt).toBe(1);
    await eventually('no copy is left', () => isEmpty(two, tube));
  }, 60_000);

  it('hands over in the midst of a stream of jobs without losing or repeating one', async () => {
    const tube = 'stream';
    const starts: Start[] = [];
    const [one, two] = [suite.start(), suite.start()];
    await record(one, tube, starts);
    const receipts = await schedule(two, tube, 500, (i) => Date.now() + 500 + i * 4);
    await eventually('some ran', () => starts.length > 50);
    await record(two, tube, starts);
    await one.consumer.stop();
    await eventually('all ran', () => starts.length >= 500);
    await eventually('no copy is left', () => isEmpty(two, tube));
    const ids = starts.map(({ id }) => id);
    expect(ids.toSorted()).toEqual(receipts.map(({ id }) => id).toSorted());
  }, 60_000);
});
