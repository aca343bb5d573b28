import { atMost } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';
import { longestGap } from '../measures.js';
import { NUMBERS } from '../topic.js';

/** Maximum time without a start of a handler, in ms. */
const RECOVERED_WITHIN = 60_000;

/**
 * Each of three brokers has a copy of every message. The one that leads the first partition is killed; then, when it is back,
 * the next leader. Two copies are enough to store a message.
 * Recovery: the longest time without a start of a handler.
 */
export const leaderKilled: StreamExperiment = {
  number: 5,
  name: 'leader-killed',
  what: 'a partition leader, one of three brokers, killed (SIGKILL) 3 times; min.insync.replicas 2',
  passes: 'pushes and handlers continue with the two others within a minute',
  jobs: 20_000,
  smallJobs: 1_000,
  async run(lab) {
    const kills = lab.pick(1, 3);
    await lab.begin(3, 3);
    lab.push(lab.pick(15_000, 60_000));
    for (let kill = 0; kill < kills; kill++) {
      await lab.handles(lab.jobs / (4 * kills));
      const leader = await lab.leaderOf(NUMBERS.name, 0);
      await lab.changing('the death of a leader', async () => {
        await leader.kill();
        await lab.handles(lab.jobs / (4 * kills));
        await leader.restart();
      });
    }
    const found = await lab.settle();
    const recovery = longestGap(lab.history);
    return { found, recovery, checks: [atMost('recovery', recovery, RECOVERED_WITHIN, ' ms')] };
  },
};
