import type { Experiment } from './experiment.js';
import { batchesKilled } from './experiments/batches-killed.js';
import { clocks } from './experiments/clocks.js';
import { confirmedRevokes } from './experiments/confirmed-revokes.js';
import { consumerCutOff } from './experiments/consumer-cut-off.js';
import { consumerFrozen } from './experiments/consumer-frozen.js';
import { consumersKilled } from './experiments/consumers-killed.js';
import { diskFull } from './experiments/disk-full.js';
import { endsAwaited } from './experiments/ends-awaited.js';
import { expiringBacklog } from './experiments/expiring-backlog.js';
import { flushall } from './experiments/flushall.js';
import { withGoQueue, goQueue } from './experiments/go-queue.js';
import { leaderWithoutKey } from './experiments/leader-without-key.js';
import { limits } from './experiments/limits.js';
import { longHandlers } from './experiments/long-handlers.js';
import { nodeAway } from './experiments/node-away.js';
import { nodeDrained } from './experiments/node-drained.js';
import { nodeKilled } from './experiments/node-killed.js';
import { nodeRepaired } from './experiments/node-repaired.js';
import { nodeSilent } from './experiments/node-silent.js';
import { nodeWiped } from './experiments/node-wiped.js';
import { outboxKilled } from './experiments/outbox-killed.js';
import { poison } from './experiments/poison.js';
import { redisAway } from './experiments/redis-away.js';
import { redisFailover } from './experiments/redis-failover.js';
import { repairFlushall } from './experiments/repair-flushall.js';
import { replacedMidway } from './experiments/replaced-midway.js';
import { resurrection } from './experiments/resurrection.js';
import { rollingRestarts } from './experiments/rolling-restarts.js';
import { seriesClocks } from './experiments/series-clocks.js';
import { seriesPlanned } from './experiments/series-planned.js';
import { tubePaused } from './experiments/tube-paused.js';
import { twoLedgers } from './experiments/two-ledgers.js';
import { twoNodesDown } from './experiments/two-nodes-down.js';

/** In the order in which they run. */
export const EXPERIMENTS: readonly Experiment[] = [
  nodeKilled,
  nodeWiped,
  twoNodesDown,
  redisAway,
  flushall,
  consumersKilled,
  consumerFrozen,
  nodeSilent,
  consumerCutOff,
  poison,
  longHandlers,
  resurrection,
  nodeAway,
  diskFull,
  clocks,
  rollingRestarts,
  redisFailover,
  nodeRepaired,
  nodeDrained,
  tubePaused,
  repairFlushall,
  limits,
  goQueue,
  ...withGoQueue,
  confirmedRevokes,
  twoLedgers,
  leaderWithoutKey,
  replacedMidway,
  seriesClocks,
  expiringBacklog,
  seriesPlanned,
  outboxKilled,
  endsAwaited,
  batchesKilled,
];
