import { failing, server, unit, type Rule } from './rule.js';

/** Rules of processes that see each other. */
export const PROCESSES: readonly Rule[] = [
  {
    rule: 'A drained node gets no new copies while the others can store enough.',
    mutants: [
      ...unit(
        'cluster/placement.spec.ts',
        'plans no copy for a drained node while the others can make minWritten',
        ['cluster/cluster.ts', 'node.writable && !node.drained', 'node.writable'],
        ['cluster/cluster.ts', 'node.drained ? drained : healthy', 'healthy'],
      ),
      ...unit(
        'fleet/this-process.spec.ts',
        'puts no copies on a drained node, and does so again when it is no longer drained',
        ['fleet/this-process.ts', 'drained.includes(node.endpoint)', 'false'],
      ),
    ],
  },
  {
    rule: 'No add fails because a node is drained.',
    mutants: unit(
      'cluster/placement.spec.ts',
      'takes as many drained nodes as minWritten needs, and before those that are down',
      ['cluster/cluster.ts', 'healthy + drained >= minWritten ? minWritten : ', 'healthy > 0 ? healthy : '],
    ),
  },
  {
    rule: 'At most one process is elected, and it knows the end of that by its own clock.',
    mutants: [
      ...server(
        'presence.spec.ts',
        'forgets a process that was silent for 15 s of the server’s time, and elects another then',
        ['fleet/redis-presence.ts', 'if not elected or elected == id then', 'if id then'],
      ),
      ...unit(
        'fleet/this-process.spec.ts',
        'is no longer elected when its election has expired by its own clock, although it heard nothing',
        ['fleet/this-process.ts', 'this.parts.clock.now() < this.electedUntil', 'this.electedUntil > 0'],
      ),
    ],
  },
  {
    rule: 'Of processes with different Redis over the same nodes, those that came first run jobs, and the others none.',
    mutants: [
      ...unit(
        'cluster/admission.spec.ts',
        'refuses a newcomer with another ledger, which announces nothing, and admits one with the same ledger',
        ['cluster/admission.ts', '.filter((id) => id !== this.id)', '.filter(() => false)'],
      ),
      ...unit('cluster/admission.spec.ts', 'admits one of two that start at the same time', [
        'cluster/admission.ts',
        'if (tied === undefined) return this.admit();',
        'if (tied !== null) return this.admit();',
      ]),
      ...unit(
        'cluster/admission.spec.ts',
        'does not admit the lower of two where the other was admitted between its look and its announcement',
        ['cluster/admission.ts', 'tied = await this.otherLedger();\n    }', 'tied = undefined;\n    }'],
      ),
      ...unit(
        'cluster/admission.spec.ts',
        'admits a newcomer when no process has the other ledger any more, and not while one only connects again',
        ['cluster/admission.ts', 'this.clearSince < ROUND_EVERY_MS', 'this.clearSince < 0'],
      ),
      ...unit(
        'cluster/admission.spec.ts',
        'does not admit a newcomer that reaches restarted nodes before the others do',
        ['cluster/admission.ts', 'this.clearSince < ROUND_EVERY_MS', 'this.clearSince < 1'],
      ),
      ...unit('cluster/admission.spec.ts', 'does not count the time in which a newcomer reached no node', [
        'cluster/admission.ts',
        "if (found === 'not known') this.clearSince = undefined;",
        '',
      ]),
      ...unit('cluster/admission.spec.ts', 'announces again where a connection was lost', [
        'cluster/admission.ts',
        'LOOK_EVERY_MS * (1 + Math.random() / 2);\n    if (this.admitted && consume) await this.announce();',
        'LOOK_EVERY_MS * (1 + Math.random() / 2);',
      ]),
      ...unit(
        'cluster/admission.spec.ts',
        'announces to a node that was restarted although its ledger does not answer, so that nobody else is admitted',
        [
          'cluster/admission.ts',
          'if (this.admitted && consume) await this.announce();\n      return;',
          'return;',
        ],
      ),
      ...unit(
        'consumer/ledger-gate.spec.ts',
        'is shut while other processes use another ledger, and releases what it holds',
        ['consumer/ledger-gate.ts', ' || this.admission?.admitted === false', ''],
      ),
      ...failing(
        'two-ledgers.long.spec.ts',
        'a process with another Redis decides nothing, and begins when no other is left',
        ['ledger/redis/redis-tube-ledger.ts', 'if (refusal) throw refusal;', ''],
      ),
    ],
  },
  {
    rule: 'A ledger that loses its data keeps its identity, so that nobody is refused by it.',
    mutants: [
      ...unit(
        'cluster/admission.spec.ts',
        'gives a ledger that lost its data its identity back, and admits whoever comes then',
        ['cluster/admission.ts', 'undefined : identify(this.id)', "undefined : identify('a'.repeat(16))"],
      ),
      ...unit(
        'cluster/admission.spec.ts',
        'leaves it to the others to store the identity that their ledger has lost',
        ['cluster/admission.ts', 'clock.now() < this.leavesUntil', 'false'],
      ),
    ],
  },
];
