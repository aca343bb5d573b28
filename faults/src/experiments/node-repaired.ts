import { allStored, none, type Experiment } from '../experiment.js';
import { copiesOn } from '../lab.js';

/** An hour in ms. */
const HOUR = 3_600_000;

/**
 * A node loses its disk. Half of the jobs are due soon, and half in an hour. Nobody calls anything: the jobs of the hour get
 * their copies again by themselves. Then both other nodes lose their disks: without the repair, most of these jobs would have no
 * copy left. At the end they are moved to now.
 * Recovery: from the loss of the first disk until each job of the hour has all of its copies again.
 */
export const nodeRepaired: Experiment = {
  number: 18,
  name: 'node-repaired',
  what: 'a node loses its disk, its jobs are repaired automatically, then both other nodes lose theirs',
  passes: 'each job due within the hour has three copies again; none is lost; duplicates 0',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const producer = await lab.begin(3);
    const times = lab.timetable();
    const inAnHour = Date.now() + HOUR;
    const isLater = (i: number) => i % 2 === 1;

    const added = await producer.addMany(lab.jobs, (i) => ({
      due: isLater(i) ? inAnHour : times.at(i / lab.jobs),
    }));
    const later = added.map(({ job }) => job).filter((_, i) => isLater(i));
    const wipe = async (node: (typeof lab.beanstalkds)[number]) => {
      await node.kill();
      await node.wipe();
      await node.restart();
    };
    const [first, ...others] = lab.beanstalkds;
    await wipe(first!);
    const lost = Date.now();
    await lab.eventually('the jobs of the hour have three copies, and the others ran', async () => {
      const counts = await Promise.all(lab.beanstalkds.map(copiesOn));
      return counts.every((count) => count === later.length);
    });
    const recovery = Date.now() - lost;
    for (const node of others) await wipe(node);
    const start = Date.now() + 1_000;
    const moved = await producer.rescheduleMany(later, (i) => start + i);

    const found = await lab.settle();
    return {
      found,
      recovery,
      checks: [
        allStored('adds that failed', added),
        allStored('moves that failed', moved),
        none('duplicates', found.duplicates),
      ],
    };
  },
};
