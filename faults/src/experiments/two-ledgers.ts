import { startRedis } from 'test-servers';
import { none, type Experiment } from '../experiment.js';
import { recoveryTime } from '../measures.js';

/** Milliseconds. Longer than it takes for a backup copy to surface, so that a process with another ledger would run the job, too. */
const RUN = 3_000;

/**
 * Consumers with another Redis start on the same nodes while jobs run, and each consumer with the right one is replaced by another.
 * Recovery: from the start of the first wrong consumer until no job is overdue.
 */
export const twoLedgers: Experiment = {
  number: 29,
  name: 'two-ledgers',
  what: 'consumers with another Redis on the same nodes; jobs of 3 s',
  passes: 'duplicates 0; the consumers with the other Redis run nothing',
  jobs: 2_000,
  smallJobs: 200,
  async run(lab) {
    const rights = 3;
    const wrongs = 3;
    const producer = await lab.begin(rights);
    const redis = await lab.owned(startRedis());
    // The consumers have slots for three times as many.
    const times = lab.timetable(lab.jobs, lab.jobs * 60);
    await producer.addMany(lab.jobs, (i) => ({ due: times.at(i / lab.jobs), acts: [{ ms: RUN }] }));
    await lab.until(times.at(0.1));
    const begun = Date.now();
    const others = new Set<string>();
    for (let i = 0; i < wrongs; i++) others.add((await lab.startConsumer({ redis: redis.url })).name);
    await lab.until(times.at(0.4));
    for (const consumer of lab.consumers.slice(0, rights)) {
      await lab.startConsumer();
      await consumer.end('SIGTERM');
    }

    const found = await lab.settle();
    const theirs = [...lab.history.allRuns()].filter(({ process }) => others.has(process));
    return {
      found,
      recovery: recoveryTime(lab.history, begun),
      checks: [none('duplicates', found.duplicates), none('runs with the other ledger', theirs)],
    };
  },
};
