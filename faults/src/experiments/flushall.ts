import { noneBut, type Experiment } from '../experiment.js';
import { recoveryTime, runsDuring } from '../measures.js';

/** Milliseconds. If a run ended so shortly before, its completion may be missing, or its copies may not be deleted yet. */
const JUST_ENDED = 1_000;

/**
 * The ledger loses everything, twice, while handlers run. Before that, some jobs that are due later were revoked.
 * Recovery: from the second FLUSHALL until no job is overdue.
 */
export const flushall: Experiment = {
  number: 5,
  name: 'flushall',
  what: 'FLUSHALL under load, twice',
  passes: 'duplicates only of jobs in flight, or not deleted yet, at that moment',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const producer = await lab.begin(3);
    const times = lab.timetable();

    const added = await producer.addMany(lab.jobs, (i) => ({
      due: times.at(i / lab.jobs),
      acts: [{ ms: (i % 5) * 50 }],
    }));
    // In the second half, every tenth job is revoked. The first FLUSHALL removes the tombstones of these jobs.
    await producer.revokeMany(
      added.map(({ job }) => job).filter((job) => job > lab.jobs / 2 && job % 10 === 0),
    );
    const inFlight = new Set<number>();
    let flushed = 0;
    for (const part of [0.35, 0.65]) {
      await lab.until(times.at(part));
      const from = Date.now() - JUST_ENDED;
      await lab.withRedis((redis) => redis.flushall());
      flushed = Date.now();
      await lab.eventually('the runs of that moment ended', () => {
        const runs = runsDuring(lab.history, from, flushed);
        for (const { job } of runs) inFlight.add(job);
        return runs.every(({ end }) => end);
      });
    }

    const found = await lab.settle();
    return {
      found,
      recovery: recoveryTime(lab.history, flushed),
      checks: [noneBut('duplicates of jobs that were not in flight', found.duplicates, inFlight)],
    };
  },
};
