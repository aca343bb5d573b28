// How copies are stored on the nodes, and deleted there.
import { contract, inRedisOnly, server, unit, type Rule } from './rule.js';

export const COPIES: readonly Rule[] = [
  {
    rule: 'Due times are measured by the ledger’s clock, not by that of any process or node.',
    mutants: [
      ...unit(
        'ledger/redis/ledger-time.spec.ts',
        'takes the server’s moment for the middle of the round trip',
        [
          'ledger/redis/ledger-time.ts',
          'const taken = now + best.offset;',
          'const taken = this.clock.wall();',
        ],
      ),
      ...unit('ledger/redis/ledger-time.spec.ts', 'learns nothing from a reply that was read hours later', [
        'ledger/redis/ledger-time.ts',
        'received - sent > LONGEST_TRIP',
        'false',
      ]),
      ...server('redis-ledger.spec.ts', 'repeats a call that came too late, with the right time', [
        'ledger/redis/master.ts',
        'this.time.observe(sent, received, reply[1] / 1_000);',
        'if (!this.time.known) this.time.observe(sent, received, reply[1] / 1_000);',
      ]),
      ...unit('producer/producer.spec.ts', 'is due by ledger time, to the millisecond', [
        'producer/due.ts',
        'return due(this.ledger.tube(tube).now() - (this.clock.now() - calledAt));',
        'return due(this.clock.wall() - (this.clock.now() - calledAt));',
      ]),
      ...contract(
        'ledger-claims.spec.ts',
        'grants no run sooner, and remembers nothing of one that waits',
        ['runs/runs.rule.ts', `if (due > now + records.ahead) return { kind: 'wait', ms: due - now };`, ''],
        ['runs/claim.lua.ts', 'if runDue > now + AHEAD then return WAIT, runDue - now end', ''],
      ),
      ...inRedisOnly(
        'ledger-claims.spec.ts',
        'grants no run sooner, and remembers nothing of one that waits',
        ['runs/claim.lua.ts', 'due <= now + AHEAD and ', ''],
      ),
    ],
  },
  {
    rule: 'A run granted ahead of its time begins only when ledger time has certainly reached it.',
    mutants: [
      ...unit(
        'consumer/run/start-scheduler.spec.ts',
        'begins what was granted ahead at its millisecond, in the order of the times',
        ['consumer/run/executor.ts', 'return startsAt <= this.context.ledger.nowAtLeast();', 'return true;'],
      ),
      ...unit('consumer/run/start-scheduler.spec.ts', 'keeps waiting when ledger time went back meanwhile', [
        'consumer/run/executor.ts',
        'next && next.startsAt <= now;',
        'next;',
      ]),
      ...unit(
        'ledger/redis/ledger-time.spec.ts',
        'is never ahead of the server’s clock, however the round trip was shared out',
        [
          'ledger/redis/ledger-time.ts',
          'return this.floor ? floorAt(this.floor, this.clock.now()) : -Infinity;',
          'return this.now();',
        ],
      ),
      ...unit(
        'ledger/redis/ledger-time.spec.ts',
        'allows for clocks that drift, and learns from each reply',
        [
          'ledger/redis/ledger-time.ts',
          'return time + (now - at) * (1 - DRIFT);',
          'return time + (now - at);',
        ],
      ),
    ],
  },
  {
    rule: 'A backup’s delay is rounded up and staggered, so that it never surfaces before its job is due.',
    mutants: [
      ...unit('copies/timing.spec.ts', 'ceils a backup: due in %d ms, it surfaces after %d s', [
        'copies/timing.ts',
        'Math.ceil((msUntilDue - EARLY_BACKUP_MS) / 1000)',
        'Math.floor((msUntilDue - EARLY_BACKUP_MS) / 1000)',
      ]),
      ...unit(
        'copies/timing.spec.ts',
        'lets no backup surface early, nor later than its stagger and three quarters of a second',
        ['copies/timing.ts', 'Math.max(0, delay) + stagger(index, backupDelay)', 'Math.max(0, delay)'],
      ),
    ],
  },
  {
    rule: 'A primary whose put got no answer is not put a second time.',
    mutants: unit('cluster/cluster.spec.ts', 'does not put a primary again that got no answer', [
      'cluster/cluster.ts',
      'const other = index > 0 || !failure.doubtful ? this.replacement() : undefined;',
      'const other = this.replacement();',
    ]),
  },
  {
    rule: 'A primary names its backups, so that its run deletes them: nothing is left that runs again if the ledger forgets the end.',
    mutants: [
      ...unit('cluster/cluster.spec.ts', 'stores the backups first, then the primary, which names them', [
        'cluster/cluster.ts',
        'const siblings = index > 0 ? NO_PLACES :',
        'const siblings = index >= 0 ? NO_PLACES :',
      ]),
      ...unit(
        'consumer/finish/copy-deleter.spec.ts',
        'deletes its own copy on its lane and the known siblings by their places, and settles what was DELETED',
        [
          'consumer/finish/copy-deleter.ts',
          'if (siblings) for (const place of header.siblings) if (!isUnknown(place.location)) ask(place);',
          '',
        ],
      ),
    ],
  },
  {
    rule: 'No two copies of a job lie on one server, even if two names in `beanstalks` lead to it.',
    mutants: [
      ...unit('cluster/cluster.spec.ts', 'gets one copy of a job, and says why it gets no other', [
        'cluster/cluster-node.ts',
        'this.health.twin = this.twin?.endpoint;',
        '',
      ]),
      ...unit(
        'cluster/cluster.spec.ts',
        'gets no second copy from a put that waited for the node',
        [
          'cluster/cluster-node.ts',
          'const { unfit } = health;',
          'const unfit = health.logStopped ? LOG_STOPPED : undefined;',
        ],
        [
          'cluster/cluster-node.ts',
          'this.health.twin = this.twin?.endpoint;',
          'queueMicrotask(() => (this.health.twin = this.twin?.endpoint));',
        ],
      ),
    ],
  },
  {
    rule: 'A failed add is retried only where it is certain that nothing of it ran or will, and as another job.',
    mutants: [
      ...unit('producer/patience.spec.ts', 'is not retried while its outcome is indeterminate', [
        'producer/retries.ts',
        'PASSING.has(error.code) && (!error.indeterminate || repeatable === true)',
        'PASSING.has(error.code)',
      ]),
      ...unit(
        'producer/patience.spec.ts',
        'waits for them, and is due as if it had been stored at once: %s',
        [
          'producer/job-adder.ts',
          'const id = this.nextId(Math.floor(ledger.now()));',
          'const id = ((job as { id?: string }).id ??= this.nextId(Math.floor(ledger.now())));',
        ],
      ),
    ],
  },
  {
    rule: 'A copy on a server that restarted is deleted only once it was seen to be that very copy.',
    mutants: [
      ...unit(
        'cluster/cluster-node-delete.spec.ts',
        'never deletes the innocent job that has the id now',
        ['cluster/cluster-node.ts', 'if (present?.instance === instance) return', 'if (present) return'],
        [
          'cluster/cluster-node.ts',
          'if (instance === store.instance) return this.remove(',
          'return this.remove(',
        ],
        [
          'cluster/cluster-node.ts',
          `reply === 'NOT_FOUND' || !isSame(reply.body)) done('missing'`,
          `reply === 'NOT_FOUND') done('missing'`,
        ],
      ),
      ...unit(
        'copies/formats/dq1.spec.ts',
        'knows the very copy: id, generation and index',
        ['copies/header.ts', 'header.id === id && header.generation', 'header.generation'],
        ['copies/header.ts', 'header.generation === generation && header.index', 'header.index'],
        [
          'copies/header.ts',
          'header.generation === generation && header.index === index',
          'header.generation === generation',
        ],
      ),
    ],
  },
  {
    rule: 'A put that a server with a binlog answers with BURIED is not deleted: beanstalkd would crash.',
    mutants: unit(
      'cluster/cluster-node-binlog.spec.ts',
      'is assumed after BURIED: no later INSERTED is a copy, until the log advances',
      [
        'cluster/cluster-node.ts',
        'if (!health.hasLog) return takeBack(store, copy, id, status);',
        'return takeBack(store, copy, id, status);',
      ],
    ),
  },
  {
    rule: 'A copy that a release left buried is not kicked on a server with a binlog: its log would be corrupted.',
    mutants: unit(
      'cluster/cluster-node-binlog.spec.ts',
      'leaves it to a server with a log, which kept its delay and would be corrupted',
      ['cluster/cluster-node.ts', 'if (!this.health.hasLog) this.link', 'this.link'],
    ),
  },
  {
    rule: 'No copy is released to a server without room for its log if the server had to log it: nobody could reach it.',
    mutants: [
      ...unit(
        'consumer/reserve/lane.spec.ts',
        'loses one by a %s at most, and holds the others',
        ['consumer/reserve/log-writes.ts', 'if (this.open === 0) this.next();', 'this.next();'],
        ['consumer/reserve/log-writes.ts', '} else if (this.node.full) {', '} else if (!this.node) {'],
      ),
      ...unit(
        'consumer/reserve/lane.spec.ts',
        'releases copies in batches that double, each once the one before was taken',
        [
          'consumer/reserve/log-writes.ts',
          'this.batch = Math.min(LARGEST_BATCH, this.batch * 2);',
          'this.batch = LARGEST_BATCH;',
        ],
      ),
      ...unit(
        'cluster/cluster-node-put.spec.ts',
        'has no room for it after %s, until someone has put a job',
        ['cluster/store-health.ts', 'this.full = true;', ''],
        ['cluster/store-health.ts', 'if (puts > this.putsThen) this.full', 'this.full'],
      ),
    ],
  },
  {
    rule: 'A job is reported as lost, once, only if all nodes answer, none is a server that stored a copy of it, none has one, and it is still waiting.',
    mutants: [
      ...unit(
        'upkeep/lost-jobs.spec.ts',
        'reports nothing while a node is away, whether it has the copy or not',
        [
          'cluster/cluster-node.ts',
          `typeof reply === 'object' ? reply.body : reply;`,
          `typeof reply === 'object' ? reply.body : 'NOT_FOUND';`,
        ],
      ),
      ...unit(
        'upkeep/lost-jobs.spec.ts',
        'reports nothing of a job whose copies were deleted: it is over, whatever its list says',
        [
          'cluster/cluster.ts',
          '!maySee || this.nodes.some(({ instance }) => instance === place.instance)',
          '!maySee',
        ],
      ),
      ...unit('upkeep/lost-jobs.spec.ts', 'reports nothing of a node that was restarted with its log', [
        'cluster/cluster.ts',
        `typeof body === 'object' ? !isSame(body) : body === 'NOT_FOUND'`,
        'body !== undefined',
      ]),
      ...unit('upkeep/lost-jobs.spec.ts', 'takes no other job for the copy that has its id by now', [
        'cluster/cluster.ts',
        `typeof body === 'object' ? !isSame(body) : body === 'NOT_FOUND'`,
        `body === 'NOT_FOUND'`,
      ]),
      ...unit(
        'upkeep/lost-jobs.spec.ts',
        'reports nothing of a job that was %s while its copies were looked for',
        ['upkeep/lost-jobs.ts', 'if (isSame && !this.rounds.closed)', 'if (!this.rounds.stopped)'],
      ),
      ...unit(
        'upkeep/lost-jobs.spec.ts',
        'reports once that a job is lost when all nodes have lost their data, and leaves it in the list',
        ['upkeep/lost-jobs.ts', 'this.reported.has(name) ||', ''],
      ),
    ],
  },
  {
    rule: 'The list of waiting jobs of embedded nodes has no job that runs, is over or is dead.',
    mutants: unit(
      'embedded/stored-waiting-jobs.spec.ts',
      'has no job that runs, is over, is dead or was revoked, even while copies of it lie there',
      ['embedded/stored-waiting-jobs.ts', "known.state !== 'waiting' ||", ''],
    ),
  },
  {
    rule: 'A connection reserves only once it watches its tube and no other.',
    mutants: unit(
      'consumer/reserve/lane.spec.ts',
      'watches its tube and not the default one, whose jobs are others’, and is idle only then',
      ['consumer/reserve/lane.ts', '!this.opening && !this.waiting', '!this.waiting'],
    ),
  },
];
