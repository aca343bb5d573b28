import { atMost } from '../../experiment.js';
import type { StreamExperiment } from '../experiment.js';
import { longestGap } from '../measures.js';

/** Time for which the topic is gone, in ms. */
const GONE = 20_000;
const SMALL_GONE = 5_000;
/** Maximum time without a start of a handler, in ms. The group rebalances when the topic is deleted, and when it is recreated. */
const GAP = 5_000;

const OTHER_TOPIC = { topic: 'other', numPartitions: 3, replicationFactor: 1 };

/**
 * Along with the topic, the group reads one that is deleted under load, and recreated later.
 * Recovery: the longest time without a start of a handler from when it is deleted.
 */
export const topicDeleted: StreamExperiment = {
  number: 11,
  name: 'topic-deleted',
  what: 'one of the topics of a group deleted under load and recreated 20 s later',
  passes: 'the other topic continues; the new one is read from its first message',
  jobs: 20_000,
  smallJobs: 1_000,
  async run(lab) {
    const gone = lab.pick(SMALL_GONE, GONE);
    await lab.begin(3, 1, { otherTopic: OTHER_TOPIC });
    await lab.pushToOther([0, 1, 2, 0, 1, 2]);
    lab.push(gone + lab.pick(10_000, 40_000));
    await lab.handles(lab.jobs / 10);
    await lab.handlesOther();
    const from = Date.now();
    await lab.changing('the deletion of a topic', async () => {
      await lab.admin.deleteTopics({ topics: [OTHER_TOPIC.topic] });
      await lab.until(from + gone);
    });
    await lab.changing('the return of a topic', async () => {
      await lab.admin.createTopics({ topics: [OTHER_TOPIC] });
      await lab.pushToOther([0, 1, 2]);
      await lab.handlesOther();
    });
    const found = await lab.settle();
    const recovery = longestGap(lab.history, from);
    return { found, recovery, checks: [atMost('recovery', recovery, GAP, ' ms')] };
  },
};
