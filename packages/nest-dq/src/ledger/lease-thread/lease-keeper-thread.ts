import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../time/clock.js';
import type { KeeperMessage, KeeperThreadData } from './kept-run.js';
import { KeptRuns } from './kept-runs.js';
import { RedisLedger } from '../redis/redis-ledger.js';
import { redisOf } from './thread-source.js';

// The file that the LeaseKeeper's thread runs. The main thread has told of unfit settings already.
const { source, settings, prefix } = workerData as KeeperThreadData;
const open = () =>
  new RedisLedger({ redis: redisOf(source), settings, prefix, clock: systemClock, warn: () => undefined });

const nobody = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/**
 * Fast asleep, between two turns of the event loop that take what was said meanwhile. A thread that each message wakes
 * costs a process with few jobs a fifth of its CPU.
 */
function pause(ms: number, done: () => void): void {
  systemClock.soon(() => {
    Atomics.wait(nobody, 0, 0, ms);
    systemClock.soon(done);
  });
}

const runs = new KeptRuns(settings.lease, systemClock, open, pause);
parentPort!.on('message', (message: KeeperMessage) => runs.take(message));
