import { TubeWires } from '../src/api/tube.js';
import { GoQueueJobs } from '../src/go-queue/go-queue-jobs.js';
import { GoQueueTubes } from '../src/go-queue/go-queue-runs.js';
import { MemoryGoQueueLocks } from '../src/go-queue/memory-locks.js';
import { ClusterProducer } from '../src/producer/cluster-producer.js';
import type { Adopt, ProducerContext } from '../src/producer/producer-context.js';
import type { Clock } from 'nest-handlers/time';

const adoptNothing: Adopt = () => Promise.reject(new Error('nothing is adopted here'));

/** Returns the go-queue parts of a process, wired as in `DqRuntime`. */
export function withGoQueue(clock: Clock, adopt = adoptNothing) {
  const wires = new TubeWires();
  const locks = new MemoryGoQueueLocks(clock);
  return {
    adopt,
    sharedTubes: new GoQueueTubes(wires, locks, adopt),
    producer: (context: ProducerContext) =>
      new ClusterProducer(context, new GoQueueJobs(context, wires, locks)),
  };
}
