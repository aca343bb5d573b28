import Sequencer from '@jest/test-sequencer';

/**
 * Those that take half a minute or more. Where Jest has never run it begins with the largest files, and many of these are
 * small: one that came last would run alone, while the other worker has nothing to do.
 */
const LONGEST = [
  'faults/src/attacks/unsealed.spec.ts',
  'faults/src/small/attacks.spec.ts',
  'faults/src/small/jobs-1-of-2.spec.ts',
  'faults/src/small/jobs-2-of-2.spec.ts',
  'faults/src/small/streams.spec.ts',
  'test/cli/dashboard.spec.ts',
  'test/cli/examples.spec.ts',
  'test/contract/log-admin.spec.ts',
  'test/contract/log-codecs.spec.ts',
  'test/contract/log-groups.spec.ts',
  'test/contract/log-handled.spec.ts',
  'test/contract/log-security.spec.ts',
  'test/contract/log-tokens.spec.ts',
  'test/contract/log-transactions.spec.ts',
  'test/dashboard/accessibility.spec.ts',
  'test/dashboard/cluster.spec.ts',
  'test/dashboard/kafka.spec.ts',
  'test/dashboard/languages.spec.ts',
  'test/dashboard/many-jobs.spec.ts',
  'test/dashboard/platforms.spec.ts',
  'test/dashboard/tubes.spec.ts',
  'test/durable/killed.spec.ts',
  'test/e2e/processes.spec.ts',
  'test/e2e/revokes.spec.ts',
  'test/failure/blocked-loop.spec.ts',
  'test/failure/kafka-brokers.spec.ts',
  'test/failure/kafka-commits.spec.ts',
  'test/failure/kafka-isolation.spec.ts',
  'test/failure/kafka-rebalances.spec.ts',
  'test/failure/ledger-away.spec.ts',
  'test/failure/sentinel.spec.ts',
  'test/failure/two-ledgers.spec.ts',
  'test/model/model.spec.ts',
  'test/package/nest-11.2.table.ts',
  'test/package/tarball.spec.ts',
  'test/servers/src/kafka.spec.ts',
];

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isLong = ({ path }) => LONGEST.some((name) => path.endsWith(`/${name}`));
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}
