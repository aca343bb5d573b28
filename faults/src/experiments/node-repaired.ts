import { allStored, atLeast, none, type Experiment } from '../experiment.js';

/** How long before its time a job is still moved. The jobs of this experiment are due soon. */
const DUE_AFTER = '2s';

/**
 * A node loses its disk while all jobs wait. A repair gives each of them three copies again. Then both other nodes lose their
 * disks: without the repair, no job would have a copy left.
 * Recovery: from the loss of the first disk until each job has all of its copies again.
 */
export const nodeRepaired: Experiment = {
  number: 18,
  name: 'node-repaired',
  what: 'one node loses its disk, the jobs are repaired, and both other nodes lose theirs',
  passes: 'each job is moved; none is lost; duplicates 0',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const producer = await lab.begin(3);
    const times = lab.timetable();
    const [first, ...others] = lab.beanstalkds;
    // After the time that the adds and the repair have.
    const added = await producer.addMany(lab.jobs, (i) => ({ due: times.at(3 + i / lab.jobs) }));

    await first!.kill();
    await first!.wipe();
    const lost = Date.now();
    await first!.restart();
    let moved = 0;
    await lab.eventually('every job has its copies again', async () => {
      moved += await producer.repair({ dueAfter: DUE_AFTER });
      return moved >= lab.jobs;
    });
    const recovery = Date.now() - lost;
    await Promise.all(
      others.map(async (node) => {
        await node.kill();
        await node.wipe();
        await node.restart();
      }),
    );

    const found = await lab.settle();
    return {
      found,
      recovery,
      checks: [
        allStored('adds that failed', added),
        atLeast('jobs moved', moved, lab.jobs),
        none('duplicates', found.duplicates),
      ],
      notes: [`${Math.round((moved / recovery) * 1_000)} moves a second, the loss and the restart included`],
    };
  },
};
