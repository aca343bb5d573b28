import { allStored, atLeast, atMost, type Experiment } from '../experiment.js';
import { copiesOn } from '../lab.js';

/** How long before its time a job is still moved. The jobs of this experiment are due soon. */
const DUE_AFTER = '2s';
/** Jobs that a repair moves at once: of these, both the old and the new copies may be there. */
const MOVED_AT_ONCE = 64;

/**
 * A node loses its disk, and in the middle of the repair the ledger loses everything, also the list of the jobs that wait. Then
 * nothing can be repaired any more: each job runs from the copies that it has.
 */
export const repairFlushall: Experiment = {
  number: 21,
  name: 'repair-flushall',
  what: 'one node loses its disk, then FLUSHALL in the middle of the repair',
  passes: 'none is lost; duplicates only of jobs being moved at that moment',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const producer = await lab.begin(3);
    const times = lab.timetable(4 * lab.jobs, 4_000);
    const [first] = lab.beanstalkds;

    const added = await producer.addMany(lab.jobs, (i) => ({ due: times.at(i / lab.jobs) }));
    await first!.kill();
    await first!.wipe();
    await first!.restart();
    let isOver = false;
    const repair = async () => {
      // A call that looks before the node is back, or before all jobs are listed, finds nothing.
      while (!isOver) await producer.repair({ dueAfter: DUE_AFTER });
    };
    const repairing = repair();
    await lab.eventually('the repair is in progress', async () => (await copiesOn(first!))! > lab.jobs / 10);
    await lab.withRedis((redis) => redis.flushall());
    const flushed = Date.now();
    isOver = true;
    await repairing;
    const moved = (await copiesOn(first!))!;

    const found = await lab.settle();
    return {
      found,
      checks: [
        allStored('adds that failed', added),
        atMost('jobs moved before the FLUSHALL', moved, lab.jobs - 1),
        atLeast('milliseconds from the FLUSHALL to the first due time', times.begin - flushed, 0),
        atMost('duplicates', found.duplicates.length, MOVED_AT_ONCE),
      ],
      notes: [`about ${moved} jobs had been moved when the ledger lost everything`],
    };
  },
};
