import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from 'nest-handlers/time';
import type { LeaseMessage, LeaseWorkerData } from './run-lease.js';
import { LeaseRenewer } from './lease-renewer.js';
import { RedisLedger } from '../redis/redis-ledger.js';
import { redisOf } from './thread-source.js';

// The entry file of the lease thread. It doesn't warn of unfit settings, because the main thread does.
const { source, settings, prefix } = workerData as LeaseWorkerData;
const open = () =>
  new RedisLedger({ redis: redisOf(source), settings, prefix, clock: systemClock, warn: () => undefined });

const nobody = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/**
 * Blocks the thread, with a turn of the event loop before and after, in which it handles the messages received meanwhile. Waking
 * the thread for each message would cost a process with few jobs a fifth of its CPU.
 */
function pause(ms: number, done: () => void): void {
  systemClock.soon(() => {
    Atomics.wait(nobody, 0, 0, ms);
    systemClock.soon(done);
  });
}

const renewer = new LeaseRenewer(settings.lease, systemClock, open, pause);
parentPort!.on('message', (message: LeaseMessage) => renewer.take(message));
