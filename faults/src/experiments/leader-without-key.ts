import { randomBytes } from 'node:crypto';
import { allStored, none, type Experiment } from '../experiment.js';
import { copiesOn } from '../lab.js';

/** An hour in ms. */
const HOUR = 3_600_000;

/**
 * The leader knows only the old key of sealed jobs, and all jobs are sealed with the new one. One node after the other loses its
 * disk, at most 50 s apart. The leader can't repair the jobs, so it has to say so and let a process repair them that can. At the end they
 * are moved to now.
 * Recovery: from the loss of the first disk until each job has all of its copies again.
 */
export const leaderWithoutKey: Experiment = {
  number: 30,
  name: 'leader-without-key',
  what: 'the leader lacks the key of all jobs while one node after the other loses its disk',
  passes: 'each job automatically gets three copies again after each loss; none is lost; duplicates 0',
  jobs: 2_000,
  smallJobs: 200,
  async run(lab) {
    const key = () => randomBytes(32).toString('base64');
    const old = { k1: key() };
    const seal = { keys: { ...old, k2: key() }, current: 'k2' };
    await lab.startServers();
    const leader = await lab.startConsumer({ seal: { keys: old, current: 'k1' } });
    await lab.eventually('the first process is the leader', () =>
      lab.withRedis(async (redis) => (await redis.exists('{:}::elected')) === 1),
    );
    const producer = await lab.startApplications(2, { seal });

    const inAnHour = Date.now() + HOUR;
    const added = await producer.addMany(lab.jobs, () => ({ due: inAnHour }));
    const jobs = added.map(({ job }) => job);
    const areStored = async () => {
      const counts = await Promise.all(lab.beanstalkds.map(copiesOn));
      return counts.every((count) => count === jobs.length);
    };
    await lab.eventually('all jobs have three copies', areStored);
    const unrepaired: string[] = [];
    const lost = Date.now();
    let recovery: number | undefined;
    for (const node of lab.beanstalkds.slice(0, lab.pick(1, 3))) {
      await node.kill();
      await node.wipe();
      await node.restart();
      const repaired = lab.eventually('all jobs have three copies again', areStored, 50_000);
      await repaired.catch(() => unrepaired.push(node.endpoint)); // the jobs tell whether that lost any
      recovery ??= Date.now() - lost;
    }
    await leader.end('SIGTERM'); // it would only hand back, for half a minute each, what it can't read
    const start = Date.now() + 1_000;
    const moved = await producer.rescheduleMany(jobs, (i) => start + i);

    const found = await lab.settle();
    return {
      found,
      recovery: recovery!,
      checks: [
        allStored('adds that failed', added),
        allStored('moves that failed', moved),
        none('losses after which copies were missing', unrepaired),
        none('duplicates', found.duplicates),
      ],
    };
  },
};
