import { none, type Experiment } from '../experiment.js';
import { recoveryTime } from '../measures.js';

/**
 * The node's jobs are gone for ever. Then it comes back empty and counts its copies from 1 again, so that the places in
 * old receipts and headers name the copies of new jobs, which must not be deleted for them.
 * Recovery: from the loss to the moment from which on no job was overdue; each job whose primary was lost is late by the
 * backup delay, so this takes as long as such jobs come due.
 */
export const nodeWiped: Experiment = {
  number: 2,
  name: 'node-wiped',
  what: "one node's disk wiped for ever; the node comes back empty, and gets new jobs",
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
