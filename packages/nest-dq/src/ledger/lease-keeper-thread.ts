import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../time.js';
import type { KeeperMessage, KeeperThreadData } from './kept-run.js';
import { KeptRuns } from './kept-runs.js';
import { RedisLedger } from './redis-ledger.js';
import { redisOf } from './thread-source.js';

// The file that the LeaseKeeper's thread runs. The main thread has told of unfit settings already.
const { source, settings } = workerData as KeeperThreadData;
const open = () =>
  new RedisLedger({ redis: redisOf(source), settings, clock: systemClock, warn: () => undefined });
const runs = new KeptRuns(settings.lease, systemClock, open);
parentPort!.on('message', (message: KeeperMessage) => runs.take(message));
