// Rules of the list of waiting jobs, and of a repair that uses it.
import { contract, inRedisOnly, server, unit, type Rule } from './rule.js';

export const LISTING: readonly Rule[] = [
  {
    rule: 'A job that runs or is over is not listed as waiting.',
    mutants: [
      ...contract(
        'ledger-index.spec.ts',
        'no longer waits once it was revoked',
        [
          'records/records.ts',
          "if (state !== 'waiting') this.index.delete(id);",
          "if (state !== 'waiting') return;",
        ],
        [
          'waiting/waiting.lua.ts',
          "if record.state ~= 'w' then return unlist(key) end",
          "if record.state ~= 'w' then return end",
        ],
      ),
      ...inRedisOnly('ledger-index.spec.ts', 'does not wait any more once it was claimed: %s', [
        'runs/claim.lua.ts',
        '    unlist(key)\n    return FIRST',
        '    return FIRST',
      ]),
      ...contract(
        'ledger-index.spec.ts',
        'is not listed when its end may be forgotten',
        ['waiting/waiting.rule.ts', 'Math.ceil(due) + records.settings.doneTtl <= time.now || ', ''],
        ['waiting/listing.lua.ts', 'tonumber(due) + DONE_TTL <= now or ', ''],
      ),
      ...server(
        'redis-moving.long.spec.ts',
        'drops a job from the list that ended while its slot moved, as soon as someone looks',
        ['ledger/waiting/listing.lua.ts', '  relist(key, record)\n', ''],
      ),
    ],
  },
  {
    rule: 'Listed jobs that wait for a retry are counted as such, and no others.',
    mutants: [
      ...contract(
        'ledger-waiting.spec.ts',
        'counts those that have failed, until they run again',
        ['records/records.ts', 'isRetried: attempt > 0', 'isRetried: false'],
        ['waiting/waiting.lua.ts', 'record.attempt > 0', 'false'],
      ),
      ...contract(
        'ledger-waiting.spec.ts',
        'counts none whose run was given back, or whose attempts were reset',
        ['records/records.ts', 'isRetried: attempt > 0', 'isRetried: true'],
        ['waiting/waiting.lua.ts', "  call('ZREM', RETRYING, unpack(added))\n", ''],
      ),
      ...inRedisOnly('ledger-waiting.spec.ts', 'counts none that is %s', [
        'waiting/waiting.lua.ts',
        "    call('ZREM', RETRYING, unpack(removed))\n",
        '',
      ]),
      ...inRedisOnly('ledger-waiting.spec.ts', 'counts only those that are listed', [
        'waiting/waiting.lua.ts',
        "(to == new or call('ZSCORE', INDEX, id))",
        'true',
      ]),
    ],
  },
  {
    rule: 'An unknown job id revokes nothing, and nothing is written.',
    mutants: unit('producer/find-by-id.spec.ts', 'of an unknown job finds nothing, and writes nothing', [
      'producer/job-locator.ts',
      'if (!found) return undefined;',
      'if (!found) return target;',
    ]),
  },
  {
    rule: 'A repair moves a job only if it then has more copies, never to a drained node, and never one that waits for a retry.',
    mutants: [
      ...unit('operate/repair.spec.ts', 'moves nothing where no node could take another copy', [
        'operate/repair.ts',
        'Math.min(cluster.settings.replicas, usable.length)',
        'cluster.settings.replicas',
      ]),
      ...unit('operate/repair.spec.ts', 'leaves alone a node that is away, unless it is declared lost', [
        'operate/repair.ts',
        'if (!node.up || node.instance === location.instance) return true;',
        'if (node.instance === location.instance) return true;\n  if (!node.up) return false;',
      ]),
      ...unit(
        'operate/repair.spec.ts',
        'leaves jobs alone that are due soon, that wait for a retry, or of another tube',
        ['operate/repair.ts', 'if (job.attempt > 0) return 0;', ''],
        ['operate/repair.ts', 'from: context.now(tube) + dueAfter, ', ''],
      ),
    ],
  },
  {
    rule: 'A repair moves only the generation that it has looked at, so that two repairs at once, or a move, do no harm.',
    mutants: unit('operate/repair.spec.ts', 'leaves alone a job that someone else moves in between', [
      'operate/bulk.ts',
      'until, only: job.generation, ',
      'until, ',
    ]),
  },
  {
    rule: 'An automatic repair takes no copy from a node that still has it, and moves nothing in a process that is not elected.',
    mutants: [
      ...unit(
        'upkeep/self-repair.spec.ts',
        'takes no copies from a drained node, nor from one that only other processes know',
        ['operate/repair.ts', 'if (!node) return byItself;', 'if (!node) return false;'],
        ['operate/repair.ts', '(node.drained && !byItself)', 'node.drained'],
      ),
      ...unit('upkeep/self-repair.spec.ts', 'looks after it was elected, and not before', [
        'upkeep/self-repair.ts',
        'return !this.closed && this.parts.elected();',
        'return !this.closed;',
      ]),
    ],
  },
  {
    rule: 'An automatic repair that cannot read the remaining copies says so, and leaves the duty to another process.',
    mutants: [
      ...unit(
        'upkeep/self-repair.spec.ts',
        'names once a key that it lacks, gives up its election, and repairs when it has the key',
        ['operate/repair.ts', 'this.unreadable.push({ job, copy });', ''],
      ),
      ...server(
        'presence.spec.ts',
        'elects another in the place of one that yields, and one of those that yield if all do',
        ['fleet/redis-presence.ts', 'local gives_way = args[4] == 1 and ', 'local gives_way = false and '],
      ),
    ],
  },
  {
    rule: 'A bulk act returns its cursor before it changes anything, so that it can continue after a crash and changes nothing twice.',
    mutants: [
      ...unit(
        'operate/waiting-acts.spec.ts',
        'returns a cursor before it moves any job %s, so that nothing is moved twice',
        ['operate/bulk.ts', 'if (begin === undefined && !begun && meant.length > 0) yield told();', ''],
      ),
      ...unit(
        'operate/letter-acts.spec.ts',
        'returns a cursor before it revives any letter, so that none is revived again that died again',
        ['operate/bulk.ts', 'if (begin === undefined && !begun && meant.length > 0) yield told();', ''],
      ),
    ],
  },
];
