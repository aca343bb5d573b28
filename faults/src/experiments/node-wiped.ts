import { none, type Experiment } from '../experiment.js';
import { recoveryTime } from '../measures.js';

/**
 * A node loses its disk. Then it comes back empty, and its copy ids begin at 1 again. So the locations in old receipts and
 * headers name copies of new jobs, which must not be deleted in their place.
 * Recovery: from the loss until no job is overdue. Each job whose primary was lost is late by the backup delay, so the
 * recovery lasts as long as such jobs come due.
 */
export const nodeWiped: Experiment = {
  number: 2,
  name: 'node-wiped',
  what: 'one node loses its disk, comes back empty and gets new jobs',
  passes: 'duplicates 0',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const producer = await lab.begin(3);
    const half = Math.ceil(lab.jobs / 2);
    const before = lab.timetable(half);
    const [node] = lab.beanstalkds;

    await producer.addMany(half, (i) => ({ due: before.at(i / half) }));
    await lab.until(before.at(0.1));
    await node!.kill();
    await node!.wipe();
    const lost = Date.now();
    await lab.until(before.at(0.4));
    await node!.restart();
    await producer.addMany(half, (i) => ({ due: before.at(0.8 + (0.6 * i) / half) }));

    const found = await lab.settle();
    return {
      found,
      recovery: recoveryTime(lab.history, lost),
      checks: [none('duplicates', found.duplicates)],
    };
  },
};
