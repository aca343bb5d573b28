// A rule of oxlint: the machine's clock may be wrong, so nothing that is due, paused, overdue, old or shown next to such times goes by it.
// `wall()` is called only in these files.
const RIGHT = {
  'packages/nest-dq/src/ledger/redis/ledger-time.ts':
    "before Redis was heard there is no other time: docs/guarantees.md, 'Whose clock counts'",
  'packages/nest-dq/src/cluster/cluster-node.ts':
    'health says since when a node is down, also without the ledger',
  'packages/nest-dq/src/cluster/store-health.ts':
    "health says since when a node can't be used, also without the ledger",
  'packages/nest-dq/src/fleet/this-process.ts':
    'announces for how long a node is down: a difference of such times',
  'packages/nest-dq/src/dashboard/problem-watch.ts': 'converts such times into those of the ledger',
  'packages/nest-dq/src/ledger/redis/master.ts':
    'health tells people since when Redis is away, while no other time can be asked for',
  'packages/nest-dq/src/ledger/redis/redis-ledger.ts':
    'the view of the ledger shows how far the two clocks are apart',
  'packages/nest-dq/src/ledger/memory/memory-ledger.ts':
    'the time of this ledger starts as the machine’s, and its view shows how far they are apart',
  'packages/nest-dq/src/disk/disk.ts': 'the time of a folder starts as the machine’s, and never goes back',
  'packages/nest-dq/src/cli/doctor/redis.ts': 'doctor measures how far the two clocks are apart',
  'packages/nest-dq/src/cli/doctor/nodes.ts': 'TLS judges certificates by the machine’s clock',
  'packages/nest-dq/src/test-kit/kit-cluster.ts': 'hands the clock on that a test moves',
  'packages/nest-dq/src/test-kit/dq-test-kit.ts': 'the clock that a test moves',
  'packages/nest-kq/src/test-kit/kq-test-kit.ts': 'the clock that a test moves',
  'packages/nest-kq/src/driver/kafkajs/kafkajs-session.ts':
    'a record has the time of its producer, as Kafka’s own clients write it',
  'packages/nest-kq/src/driver/confluent/confluent-session.ts':
    'a record has the time of its producer, as Kafka’s own clients write it',
  'packages/nest-kq/src/driver/memory/memory-log.ts': 'stands for the clock of a broker',
  'packages/nest-kq/src/failures/handler-runs.ts':
    'a dead letter tells people when it was written; Kafka has no clock by which a retry topic could wait',
  'packages/nest-kq/src/failures/retry-runs.ts': 'Kafka has no clock by which a retry topic could wait',
  'packages/nest-kq/src/failures/item.ts':
    'a metric: how old a message is, by the clocks of its producer and its consumer',
  'packages/nest-kq/src/cli/dead.ts': 'how long ago a letter died, for people',
  'packages/nest-kq/src/cli/letter-flags.ts': 'a time from now, as a person types it',
};

export default {
  meta: { name: 'machine-clock' },
  rules: {
    'ledger-time': {
      create(context) {
        const file = context.filename.replaceAll('\\', '/');
        if (Object.keys(RIGHT).some((right) => file.endsWith(`/${right}`))) return {};
        return {
          MemberExpression(node) {
            if (node.property.type !== 'Identifier' || node.property.name !== 'wall') return;
            const message =
              'The machine’s clock may be wrong: ask the ledger for its time, or give the reason in scripts/lint-machine-clock.mjs.';
            context.report({ node, message });
          },
        };
      },
    },
  },
};
