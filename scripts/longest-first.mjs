import Sequencer from '@jest/test-sequencer';

/**
 * The files that take a minute and more. Where Jest has never run it begins with the largest files, and many of these are
 * small: one that came last would run alone, while the other worker has nothing to do.
 */
const LONGEST = [
  'test/cli/examples.spec.ts',
  'test/package/tarball.spec.ts',
  'test/failure/sentinel.spec.ts',
  'test/model/model.spec.ts',
  'test/failure/kafka-brokers.spec.ts',
  'test/failure/kafka-rebalances.spec.ts',
  'test/e2e/processes.spec.ts',
  'test/cli/jobs.spec.ts',
  'faults/src/small/attacks.spec.ts',
  'faults/src/small/jobs-1-of-3.spec.ts',
  'faults/src/small/jobs-2-of-3.spec.ts',
  'faults/src/small/jobs-3-of-3.spec.ts',
  'faults/src/small/streams.spec.ts',
];

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isLong = ({ path }) => LONGEST.some((name) => path.endsWith(`/${name}`));
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}
