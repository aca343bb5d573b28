import { allStored, none, type Experiment } from '../experiment.js';
import { extraStarts, recoveryTime } from '../measures.js';

/** Milliseconds. The least that the library takes. */
const DONE_TTL = 60_000;

/**
 * Every job has a copy on the node that goes away. Meanwhile a third of them run, a third are revoked, and a third are
 * rescheduled to a time after its return. Then it brings all their copies back, and most are overdue.
 * What is remembered of a job that is over, is remembered for longer than `doneTtl`, as long as a copy may come back: that
 * is what the full version shows, by waiting for that long. In the small version the node returns after some seconds.
 * Recovery: from its return to the moment from which on no job was overdue.
 */
export const nodeAway: Experiment = {
  number: 13,
  name: 'node-away',
  what: 'a node away, for longer than doneTtl, while jobs run, are revoked and rescheduled, then back (the small version: for some seconds)',
  passes: '0 run again; 0 revoked run; each rescheduled job once at the new time, never at the old',
  jobs: 20_000,
  smallJobs: 600,
  async run(lab) {
    const producer = await lab.begin(3, { doneTtl: DONE_TTL });
    const node = lab.beanstalkds[0]!;
    // As many again as are added are revoked or rescheduled before the first is due.
    const times = lab.timetable(2 * lab.jobs, lab.pick(2_000, 20_000));
    const back = times.end + lab.pick(2_000, DONE_TTL + 10_000);
    const after = lab.pick(3_000, 20_000);

    const added = await producer.addMany(lab.jobs, (i) => ({ due: times.at(i / lab.jobs) }));
    await node.kill();
    const third = (which: number) => added.map(({ job }) => job).filter((job) => job % 3 === which);
    const moved = third(2);
    const [revocations, schedules] = await Promise.all([
      producer.revokeMany(third(1)),
      producer.rescheduleMany(moved, (i) => back + 2_000 + (after * i) / moved.length),
    ]);
    const decided = Date.now();
    await lab.until(back);
    await node.restart();
    const returned = Date.now();

    const found = await lab.settle();
    return {
      found,
      recovery: recoveryTime(lab.history, returned),
      checks: [
        decided <= times.begin
          ? ''
          : 'jobs were due before all were revoked or rescheduled: give it more time',
        none('duplicates', found.duplicates),
        none('starts beyond the first', extraStarts(lab.history)),
        none(
          'revokes that were not answered `revoked`',
          revocations.filter(({ answer }) => answer !== 'revoked'),
        ),
        allStored('reschedules that were not answered `rescheduled`', schedules),
      ],
    };
  },
};
