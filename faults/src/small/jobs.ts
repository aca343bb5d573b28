import { describe } from '@jest/globals';
import { JOBS } from '../suites.js';
import { eachPasses, named } from './command.js';

/** The faults of the others have a spec of their own, most of them in `test/failure`. */
const NAMES = [
  'node-killed',
  'node-wiped',
  'two-nodes-down',
  'flushall',
  'consumer-frozen',
  'consumer-cut-off',
  'long-handlers',
  'resurrection',
  'clocks',
  'rolling-restarts',
  'confirmed-revokes',
  'leader-without-key',
  'replaced-midway',
  'series-clocks',
  'ends-awaited',
  'batches-killed',
];

/** Every second experiment with jobs, in a spec file of its own, as Jest runs several files at a time. */
export function eachHalfPasses(first: 1 | 2): void {
  const experiments = named(JOBS.all, NAMES);
  describe('the experiment with some hundred jobs passes:', () =>
    eachPasses(experiments.filter((_, index) => index % 2 === first - 1)));
}
