import { beforeEach, describe, expect, it } from '@jest/globals';
import { clock, consumingInEachTest, world } from '../../spec-support/consuming.js';

const SLOTS = 5;
/** Duration of one run, in ms. */
const HANDLER = 100;
/** Runs of one process in a second, plus its slots. */
const MOST_EARLY = SLOTS + (SLOTS * 1_000) / HANDLER;
/** How long before the due time copies surface, in ms. The jobs are added in the middle of a second. */
const EARLY = 500;
const JOBS = 1_000;
/** Milliseconds between two looks of a node at which as many are early as may be. */
const REST = 20;

describe('Copies that come due at one moment, more than a process can run by then', () => {
  consumingInEachTest();

  /** Lateness of the jobs that ran. */
  let ran: number[];

  beforeEach(() => {
    ran = [];
  });

  const consume = async () => {
    const handler = async (_payload: unknown, { lateness }: { lateness: number }) => {
      ran.push(lateness);
      await new Promise<void>((resolve) => clock.after(HANDLER, resolve));
    };
    await world.process().consume(handler, { concurrency: SLOTS });
  };

  /** Processes that know how long their handler takes. */
  const warm = async (processes: number) => {
    for (let i = 0; i < processes; i++) await consume();
    await clock.advance(500);
    await world.addMany(10 * processes, 0);
    await clock.advance(2_000);
    ran = [];
  };

  const addAll = async () => {
    await world.addMany(JOBS, 1_000 + EARLY);
    await pass(1_000);
  };

  /** In steps: what takes no time happens in between. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10) {
      await clock.advance(10);
      await world.settle();
    }
  };

  const reserved = async () => (await world.copies()).reserved;

  it('are left to other processes while they are early', async () => {
    await warm(1);
    await addAll();
    await pass(EARLY - REST);
    expect(await reserved()).toBeGreaterThanOrEqual(MOST_EARLY);
    expect(await reserved()).toBeLessThanOrEqual(MOST_EARLY + 3 * (EARLY / REST));
  });

  it('are all reserved where nobody knows yet how many it can run', async () => {
    await consume();
    await addAll();
    await pass(EARLY - REST);
    expect(await reserved()).toBe(JOBS);
  });

  it('are rarely released needlessly', async () => {
    await warm(2);
    const before = await world.releases();
    await addAll();
    await pass(EARLY + (JOBS * HANDLER) / (2 * SLOTS) + 1_000);
    expect(ran).toHaveLength(JOBS);
    expect((await world.releases()) - before).toBeLessThan(JOBS / 2);
  });

  it('keep no job waiting that is due in the second before theirs', async () => {
    await warm(1);
    await addAll();
    await pass(100);
    expect(await reserved()).toBeGreaterThanOrEqual(MOST_EARLY);
    await world.add(0);
    await pass(REST);
    expect(ran).toEqual([expect.any(Number)]);
    await world.add(100);
    await pass(100);
    expect(ran[1]).toBe(0);
  });
});
