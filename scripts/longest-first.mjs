import Sequencer from '@jest/test-sequencer';

/**
 * Those that take half a minute or more. Where Jest has never run it begins with the largest files, and many of these are
 * small: one that came last would run alone, while the other worker has nothing to do.
 */
const LONGEST = [
  'examples/stream-retries/stream-retries.long.spec.ts',
  'examples/unpaid-orders/unpaid-orders.long.spec.ts',
  'faults/src/attacks/unsealed.long.spec.ts',
  'faults/src/small/attacks.long.spec.ts',
  'faults/src/small/jobs-1-of-2.long.spec.ts',
  'faults/src/small/jobs-2-of-2.long.spec.ts',
  'faults/src/small/streams.long.spec.ts',
  'test/cli/dashboard.long.spec.ts',
  'test/cli/examples.long.spec.ts',
  'test/contract/log-admin.long.spec.ts',
  'test/contract/log-codecs.long.spec.ts',
  'test/contract/log-groups.long.spec.ts',
  'test/contract/log-handled.long.spec.ts',
  'test/contract/log-security.long.spec.ts',
  'test/contract/log-tokens.long.spec.ts',
  'test/contract/log-transactions.long.spec.ts',
  'test/dashboard/accessibility.long.spec.ts',
  'test/dashboard/cluster.long.spec.ts',
  'test/dashboard/kafka.long.spec.ts',
  'test/dashboard/languages.long.spec.ts',
  'test/dashboard/many-jobs.long.spec.ts',
  'test/dashboard/outage.long.spec.ts',
  'test/dashboard/platforms.long.spec.ts',
  'test/dashboard/tubes.long.spec.ts',
  'test/durable/killed.long.spec.ts',
  'test/e2e/processes.long.spec.ts',
  'test/e2e/revokes.long.spec.ts',
  'test/failure/blocked-loop.long.spec.ts',
  'test/failure/kafka-brokers.long.spec.ts',
  'test/failure/kafka-commits.long.spec.ts',
  'test/failure/kafka-isolation.long.spec.ts',
  'test/failure/kafka-rebalances.long.spec.ts',
  'test/failure/ledger-away.long.spec.ts',
  'test/failure/sentinel.long.spec.ts',
  'test/failure/two-ledgers.long.spec.ts',
  'test/model/model.long.spec.ts',
  'test/package/nest-11.2.table.ts',
  'test/package/tarball.long.spec.ts',
  'test/servers/src/kafka.long.spec.ts',
];

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isLong = ({ path }) => LONGEST.some((name) => path.endsWith(`/${name}`));
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}
