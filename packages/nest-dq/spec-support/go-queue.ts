import { TubeWires } from '../src/api/tube.js';
import type { GoQueueParts } from '../src/go-queue/locks.js';
import { MemoryGoQueueLocks } from '../src/go-queue/memory-locks.js';
import type { Clock } from 'nest-handlers/time';

/** For what has no tube that go-queue uses. */
export function withoutGoQueue(clock: Clock): GoQueueParts {
  const adopt = () => Promise.reject(new Error('nothing is adopted here'));
  return { locks: new MemoryGoQueueLocks(clock), wires: new TubeWires(), adopt };
}
