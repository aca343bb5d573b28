import { server, unit, type Rule } from './rule.js';

/** What processes know of each other. */
export const PROCESSES: readonly Rule[] = [
  {
    rule: 'A drained node gets no new copies while the others can store enough.',
    mutants: [
      ...unit(
        'cluster/placement.spec.ts',
        'plans no copy for a drained node while the others can make minWritten',
        ['cluster/placement.ts', 'node.writable && !node.drained', 'node.writable'],
        ['cluster/placement.ts', 'node.drained ? drained : healthy', 'healthy'],
      ),
      ...unit(
        'operate/this-process.spec.ts',
        'puts no copies on a node that is drained, and does again when it is not drained any more',
        ['operate/this-process.ts', 'drained.includes(node.endpoint)', 'false'],
      ),
    ],
  },
  {
    rule: 'No add fails because a node is drained.',
    mutants: unit(
      'cluster/placement.spec.ts',
      'takes as many drained nodes as minWritten needs, and before those that are down',
      ['cluster/placement.ts', 'healthy + drained >= minWritten ? minWritten : ', 'healthy > 0 ? healthy : '],
    ),
  },
  {
    rule: 'At most one process is elected, and it knows the end of that by its own clock.',
    mutants: [
      ...server(
        'presence.spec.ts',
        'forgets a process that was silent for 15 s of the server’s time, and elects another then',
        ['ledger/redis/redis-presence.ts', 'if not elected or elected == id then', 'if id then'],
      ),
      ...unit(
        'operate/this-process.spec.ts',
        'is not elected any more when its election is over by its own clock, although it heard nothing',
        ['operate/this-process.ts', 'this.parts.clock.now() < this.electedUntil', 'this.electedUntil > 0'],
      ),
    ],
  },
];
