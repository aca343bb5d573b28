import { allStored, none, type Experiment } from '../experiment.js';
import { extraStarts, recoveryTime } from '../measures.js';

/** Milliseconds. The smallest value that the library accepts. */
const DONE_TTL = 60_000;

/**
 * Every job has a copy on the node that goes away. Meanwhile a third of the jobs run, a third are revoked, and a third are
 * rescheduled to a time after the return of the node. Then the node comes back with all its copies, and most are overdue.
 * The ledger must remember a job that is over for longer than `doneTtl`, as long as a copy may come back. The full version
 * shows this, because it waits longer than `doneTtl`. In the small version the node returns after some seconds.
 * Recovery: from the return of the node until no job is overdue.
 */
export const nodeAway: Experiment = {
  number: 13,
  name: 'node-away',
  what: 'a node down for longer than doneTtl while jobs run, are revoked and rescheduled, then back (the small version: for some seconds)',
  passes: '0 jobs run again; 0 revoked jobs run; each rescheduled job runs once, at the new time',
  jobs: 20_000,
  smallJobs: 600,
  async run(lab) {
    const producer = await lab.begin(3, { advanced: { doneTtl: DONE_TTL } });
    const node = lab.beanstalkds[0]!;
    // Before the first job is due, there must be time for two calls a job: the add, and the revoke or reschedule.
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
          : 'some jobs were due before all were revoked or rescheduled: this machine is too slow for the timetable',
        none('duplicates', found.duplicates),
        none('starts beyond the first', extraStarts(lab.history)),
        none(
          'revokes that did not return `revoked`',
          revocations.filter(({ answer }) => answer !== 'revoked'),
        ),
        allStored('reschedules that did not return `rescheduled`', schedules),
      ],
    };
  },
};
