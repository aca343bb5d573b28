import type { StreamExperiment } from './experiment.js';
import { brokerFrozen } from './experiments/broker-frozen.js';
import { brokerKilled } from './experiments/broker-killed.js';
import { consumerFrozen } from './experiments/consumer-frozen.js';
import { consumersKilled } from './experiments/consumers-killed.js';
import { coordinatorKilled } from './experiments/coordinator-killed.js';
import { dqRedisAway } from './experiments/dq-redis-away.js';
import { joinsAndLeaves } from './experiments/joins-and-leaves.js';
import { leaderKilled } from './experiments/leader-killed.js';
import { manyPartitions } from './experiments/many-partitions.js';
import { membersChange } from './experiments/members-change.js';
import { partitionLeaderless } from './experiments/partition-leaderless.js';
import { poisonDefault } from './experiments/poison-default.js';
import { topicDeleted } from './experiments/topic-deleted.js';

/** In the order in which they run. */
export const STREAM_EXPERIMENTS: readonly StreamExperiment[] = [
  consumersKilled,
  consumerFrozen,
  membersChange,
  brokerKilled,
  leaderKilled,
  coordinatorKilled,
  dqRedisAway,
  joinsAndLeaves,
  poisonDefault,
  partitionLeaderless,
  topicDeleted,
  brokerFrozen,
  manyPartitions,
];
