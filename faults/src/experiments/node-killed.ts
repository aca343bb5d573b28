import { atMost, none, type Experiment } from '../experiment.js';
import { recoveryTime } from '../measures.js';

/**
 * A third of the jobs have their primary on the node that is killed. While it is away, these jobs run from their first
 * backup. The node comes back with its binlog, and so with copies of jobs that are done.
 * Recovery: from the return of the node until no job is overdue.
 */
export const nodeKilled: Experiment = {
  number: 1,
  name: 'node-killed',
  what: 'one node killed (SIGKILL) while jobs come due, and restarted later',
  passes: 'duplicates 0; worst lateness at most the backup delay plus a second',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const producer = await lab.begin(3);
    const times = lab.timetable();
    const [node] = lab.beanstalkds;

    await producer.addMany(lab.jobs, (i) => ({ due: times.at(i / lab.jobs) }));
    await lab.until(times.at(0.3));
    await node!.kill();
    await lab.until(times.at(0.7));
    await node!.restart();
    const back = Date.now();

    const found = await lab.settle();
    return {
      found,
      recovery: recoveryTime(lab.history, back),
      checks: [
        none('duplicates', found.duplicates),
        atMost('worst lateness', found.worstLateness, lab.backupDelay + 1_000, ' ms'),
      ],
    };
  },
};
