import { atMost, none, type Experiment } from '../experiment.js';
import { recoveryTime } from '../measures.js';

/** Milliseconds: the default patience plus a second. */
const ADD_LIMIT = 6_000;

/**
 * Every job is stored on three nodes. Two of them are killed before the first job is due, and come back when all jobs have
 * run. Adds meanwhile reach one node only, so they must fail, and their jobs must not run.
 * Recovery: from the first due time until no job is overdue, with one node left.
 */
export const twoNodesDown: Experiment = {
  number: 3,
  name: 'two-nodes-down',
  what: 'two of three nodes down',
  passes: 'stored jobs still run; adds fail within a second after their patience and say why; duplicates 0',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const producer = await lab.begin(3);
    const times = lab.timetable();
    const down = lab.beanstalkds.slice(1);

    await producer.addMany(lab.jobs, (i) => ({ due: times.at(i / lab.jobs) }));
    await Promise.all(down.map((node) => node.kill()));
    const failed = await producer.addMany(Math.ceil(lab.jobs / 20), () => ({ due: times.at(0.5) }));
    await lab.eventually('all stored jobs ran while two nodes were down', () => lab.open() === 0);
    const recovery = recoveryTime(lab.history, times.begin);
    await Promise.all(down.map((node) => node.restart()));

    const found = await lab.settle();
    return {
      found,
      recovery,
      checks: [
        none('duplicates', found.duplicates),
        none(
          'adds that did not fail with DQ_TOO_FEW_COPIES',
          failed.filter(({ code }) => code !== 'DQ_TOO_FEW_COPIES'),
        ),
        atMost(
          'the slowest add',
          Math.max(...failed.map(({ at, askedAt }) => at - askedAt)),
          ADD_LIMIT,
          ' ms',
        ),
      ],
    };
  },
};
