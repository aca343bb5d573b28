import { atMost } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';
import { longestGap } from '../measures.js';

/** Maximum time without a start of a handler, in ms. */
const RECOVERED_WITHIN = 60_000;

/**
 * The broker that coordinates the group, one of three, is killed, and stays down until the group commits through another one.
 * Recovery: the longest time without a start of a handler.
 */
export const coordinatorKilled: StreamExperiment = {
  number: 6,
  name: 'coordinator-killed',
  what: "the group's coordinator, one of three brokers, killed (SIGKILL) and down until the group commits without it",
  passes:
    'the group continues with another coordinator, with no more than a minute without a handler starting',
  jobs: 20_000,
  smallJobs: 1_000,
  async run(lab) {
    await lab.begin(3, 3);
    lab.push(lab.pick(15_000, 60_000));
    await lab.handles(lab.jobs / 4);
    const coordinator = await lab.coordinator();
    await lab.changing('the death of the coordinator', async () => {
      await coordinator.kill();
      const committed = await lab.committed();
      await lab.eventually('the group commits', async () => (await lab.committed()) > committed);
    });
    await lab.handles(lab.jobs / 4);
    await lab.changing('its return', () => coordinator.restart());
    const found = await lab.settle();
    const recovery = longestGap(lab.history);
    return { found, recovery, checks: [atMost('recovery', recovery, RECOVERED_WITHIN, ' ms')] };
  },
};
