import { atLeast, atMost } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';
import { longestWait } from '../measures.js';

/** Time for which the broker is down, in ms. */
const AWAY = 60_000;
const SMALL_AWAY = 20_000;
const WAIT = 1_000;
/** On a busy machine, with few messages. */
const SMALL_WAIT = 4_000;

/**
 * Along with the topic, which has three copies of each message, the group reads one whose partitions have one copy each. The broker
 * with the only copy of one of them is killed. While it is away, a consumer is replaced.
 * Recovery: the longest time from the answer to a push until a handler starts in its partition, while the broker is away and
 * before the consumer is replaced.
 */
export const partitionLeaderless: StreamExperiment = {
  number: 10,
  name: 'partition-leaderless',
  what: 'a broker with the only copy of a partition killed for 60 s; a consumer replaced meanwhile',
  passes: 'other partitions are not delayed; the new consumer joins; the partition continues when it is back',
  jobs: 20_000,
  smallJobs: 1_000,
  async run(lab) {
    const replicaAssignment = [1, 2, 3].map((node, partition) => ({ partition, replicas: [node] }));
    await lab.begin(3, 3, { otherTopic: { topic: 'other', replicaAssignment } });
    await lab.pushToOther([0, 1, 2]);
    const away = lab.pick(SMALL_AWAY, AWAY);
    lab.push(away + lab.pick(5_000, 20_000));
    await lab.handles(lab.jobs / 20);
    await lab.handlesOther();
    const coordinator = await lab.coordinator();
    const victim = lab.brokers.find(({ nodeId }) => nodeId !== coordinator.nodeId)!;
    const from = Date.now();
    let replaced = from;
    let back = from;
    let joined = '';
    await lab.changing('the death of a broker', async () => {
      await victim.kill();
      await lab.until(from + away / 2);
      replaced = Date.now();
      await lab.consumers[0]!.end('SIGTERM');
      ({ name: joined } = await lab.startConsumer());
      await lab.settledWith('while a partition has no leader', lab.consumers.slice(1));
      await lab.until(from + away);
      back = Date.now();
      await victim.restart();
      await lab.handles(1);
    });
    await lab.pushToOther([0, 1, 2]);
    await lab.handlesOther();
    const found = await lab.settle();
    const wait = longestWait(lab.history, from, replaced);
    const handled = lab.history.runsIn(joined).filter(({ at }) => at < back).length;
    return {
      found,
      recovery: wait,
      checks: [
        atMost('recovery', wait, lab.pick(SMALL_WAIT, WAIT), ' ms'),
        atLeast('runs in the new consumer while the broker is away', handled, 1),
      ],
    };
  },
};
