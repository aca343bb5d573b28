import { atLeast, atMost } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';
import { longestPush } from '../measures.js';
import { NUMBERS } from '../topic.js';

/** Duration of the freeze in ms. */
const FROZEN = 60_000;
const SMALL_FROZEN = 15_000;
const ANSWERED_WITHIN = 2_000;

/**
 * One of three brokers, which leads partitions, is frozen: its connections stay, and nothing answers.
 * Recovery: the longest time from a push to a partition of another broker until its answer, while the broker is frozen.
 */
export const brokerFrozen: StreamExperiment = {
  number: 12,
  name: 'broker-frozen',
  what: 'one of three brokers, leading partitions, frozen (SIGSTOP) for 60 s',
  passes: 'pushes to partitions with other leaders are acknowledged within 2 s',
  jobs: 20_000,
  smallJobs: 1_000,
  async run(lab) {
    const frozen = lab.pick(SMALL_FROZEN, FROZEN);
    await lab.begin(3, 3);
    lab.push(frozen + lab.pick(5_000, 20_000));
    await lab.handles(lab.jobs / 20);
    const coordinator = await lab.coordinator();
    const { topics } = await lab.admin.fetchTopicMetadata({ topics: [NUMBERS.name] });
    const { partitions } = topics[0]!;
    const victim = lab.brokers.find(
      ({ nodeId }) => nodeId !== coordinator.nodeId && partitions.some(({ leader }) => leader === nodeId),
    )!;
    const others = partitions.filter(({ leader }) => leader !== victim.nodeId);
    const from = Date.now();
    let to = from;
    await lab.changing('the freeze of a broker', async () => {
      victim.freeze();
      await lab.until(from + frozen);
      to = Date.now();
      victim.thaw();
      await lab.handles(1);
    });
    const found = await lab.settle();
    const numbers = others.map(({ partitionId }) => partitionId);
    const pushes = [...lab.history.pushes.values()].filter(({ askedAt }) => askedAt >= from && askedAt <= to);
    const recovery = longestPush(lab.history, numbers, from, to);
    return {
      found,
      recovery,
      checks: [
        atLeast('pushes while the broker was frozen', pushes.length, 1),
        atMost('recovery', recovery, ANSWERED_WITHIN, ' ms'),
      ],
    };
  },
};
