import { atMost } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';
import { longestGap } from '../measures.js';

/** Time for which the broker is down, in ms. */
const AWAY = 3_000;
const RECOVERED_WITHIN = 60_000;

/**
 * The only broker is killed, twice, while messages are pushed and handled. It comes back with its data.
 * Recovery: the longest time without a start of a handler; it contains the time in which there is no broker.
 */
export const brokerKilled: StreamExperiment = {
  number: 4,
  name: 'broker-killed',
  what: 'the only broker killed (SIGKILL) and restarted with its data, twice',
  passes: 'each push waits for it; no more than a minute without a handler starting',
  jobs: 20_000,
  smallJobs: 1_000,
  async run(lab) {
    const kills = lab.pick(1, 2);
    await lab.begin(3);
    lab.push(lab.pick(12_000, 60_000));
    for (let kill = 0; kill < kills; kill++) {
      await lab.handles(lab.jobs / (3 * kills));
      await lab.changing('the death of the broker', async () => {
        const [broker] = lab.brokers;
        await broker!.kill();
        await lab.until(Date.now() + AWAY);
        await broker!.restart();
        await lab.handles(1);
      });
    }
    const found = await lab.settle();
    const recovery = longestGap(lab.history);
    return { found, recovery, checks: [atMost('recovery', recovery, RECOVERED_WITHIN, ' ms')] };
  },
};
