// For how long the ledger remembers a job: while a copy may be left that would ask for it.
import { contract, inRedisOnly, server, unit, type Rule } from './rule.js';

export const REMEMBERING: readonly Rule[] = [
  {
    rule: 'An outcome is taken for a record that was lost only while no later end of the job can be forgotten.',
    mutants: [
      ...contract(
        'ledger-runs.spec.ts',
        'is refused without a record once the last OK is older than an end is remembered',
        ['records/records.ts', 'if (now - run.lastOk >= this.settings.doneTtl) return undefined;', ''],
        ['runs/complete.lua.ts', 'if now - lastOk >= DONE_TTL then return refuse(key, record, next) end', ''],
      ),
      ...inRedisOnly(
        'ledger-runs.spec.ts',
        'is refused without a record once the last OK is older than an end is remembered',
        ['runs/extend.lua.ts', 'if now - lastOk >= DONE_TTL then return REFUSED end', ''],
      ),
      ...contract(
        'ledger-runs.spec.ts',
        'is accepted without a record while the last OK is young, and remembered',
        [
          'runs/runs.rule.ts',
          'records.read(id, time) ?? records.madeAnew(request, time);',
          'records.read(id, time);',
        ],
        ['runs/complete.lua.ts', 'if now - lastOk >= DONE_TTL then', 'if true then'],
      ),
    ],
  },
  {
    rule: 'A record is kept until none of the copies is left that may exist: of every generation, from its opening on.',
    mutants: [
      ...contract(
        'ledger-expiry.spec.ts',
        'is forgotten soon after the end once every copy is settled, and not before',
        ['records/job-record.ts', 'if (ended && !owes && record.holdEnd', 'if (ended && record.holdEnd'],
        ['records/record.lua.ts', 'if ended and not owes and record.holdEnd', 'if ended and record.holdEnd'],
      ),
      ...contract(
        'ledger-schedules.spec.ts',
        'keeps a record for as long as its copies may come due',
        ['records/job-record.ts', 'record.holdEnd, sumDue, lostDue', 'record.holdEnd, lostDue'],
        ['records/record.lua.ts', 'record.holdEnd, record.sumDue, lostDue', 'record.holdEnd, lostDue'],
      ),
      ...inRedisOnly('ledger-expiry.spec.ts', 'of a retry is kept until long after it is due', [
        'records/record.lua.ts',
        'if leaseUntil and last <= leaseUntil then',
        'if leaseUntil then',
      ]),
      ...contract(
        'ledger-schedules.spec.ts',
        'keeps a record for as long as its copies may come due',
        ['schedules/schedules.rule.ts', 'count(record, generation, Math.ceil(due), announced);', ''],
        ['schedules/open.lua.ts', 'count(record, generation, due, announced)', ''],
      ),
      ...unit(
        'producer/add-with-key.spec.ts',
        'owes every copy from its opening on, for its process may die before the commit',
        ['copies/storing.ts', 'return 2 ** cluster.settings.replicas - 1;', 'return 0;'],
      ),
      ...contract(
        'ledger-expiry.spec.ts',
        'is forgotten soon after the end once every copy is settled, and not before',
        ['runs/runs.rule.ts', 'owe(record, surfaces, owed);', ''],
        ['runs/complete.lua.ts', 'owe(record, surfaces, mask, unknown)', ''],
      ),
      ...contract(
        'ledger-again.spec.ts',
        'remembers the old copies for as long as they are not settled',
        ['runs/runs.rule.ts', 'owe(record, request.due, owed);', ''],
        ['runs/complete.lua.ts', 'owe(record, due, mask, unknown)', ''],
      ),
      ...unit(
        'consumer/reserve/delivery.spec.ts',
        'is every copy that was meant to be, as far as a backup knows',
        ['consumer/reserve/delivery.ts', 'mask: 2 ** copies - 1', 'mask: 1 << this.header.index'],
      ),
      ...contract(
        'ledger-commits.spec.ts',
        'still owes the copies of the generation that it replaced',
        ['records/job-record.ts', 'countOwed(record);', 'record.sum = 0;'],
        ['records/record.lua.ts', 'countOwed(record)', 'record.sum = nil'],
      ),
      ...contract(
        'ledger-moves.spec.ts',
        'owes the old copies and the new',
        ['records/job-record.ts', 'countOwed(record);', 'record.owed = undefined;'],
        ['records/record.lua.ts', 'countOwed(record)', 'record.owed = nil'],
      ),
      ...contract(
        'ledger-moves.spec.ts',
        'owes the old copies and the new',
        [
          'schedules/schedules.rule.ts',
          'if (known?.generation === committed) owe(record, known.due, known.owed);',
          '',
        ],
        [
          'schedules/open.lua.ts',
          'if known and known.generation == record.committed then owe(record, known.due, known.mask, known.unknown) end',
          '',
        ],
      ),
      ...contract(
        'ledger-revoke.spec.ts',
        'does not forget the copies that only the reference knows of',
        ['schedules/schedules.rule.ts', 'if (committed === born) owe(record, due, owed);', ''],
        ['schedules/revoke.lua.ts', 'if committed == born then owe(record, due, mask, unknown) end', ''],
      ),
      ...unit('go-queue/go-queue-tube.spec.ts', 'knows it while a node is away that may have a copy', [
        'consumer/reserve/delivery.ts',
        'return foreign.owedOn(this.node.siblings.length)',
        'return { mask: 1 << this.index, unknown: false }',
      ]),
      ...unit(
        'go-queue/go-queue-tube.spec.ts',
        'holds for a copy that its reference does not name, on a node that is away for longer than the lock lives',
        [
          'producer/revoker.ts',
          'return foreign.owedOn(this.context.parts.cluster.nodes.length)',
          'return owedAt(places)',
        ],
      ),
    ],
  },
  {
    rule: 'A copy of unknown fate is never taken for gone.',
    mutants: [
      ...contract(
        'ledger-expiry.spec.ts',
        'is kept while a copy of unknown fate may exist, whatever is settled',
        [
          'records/owed-copies.rule.ts',
          'record.owed = mask !== 0 || unknown ?',
          'record.owed = mask !== 0 ?',
        ],
        ['records/owed-copies.lua.ts', '(mask ~= 0 or unknown ~= 0) and', '(mask ~= 0) and'],
      ),
      ...contract(
        'ledger-expiry.spec.ts',
        'learns of a copy of unknown fate from a settle',
        ['records/owed-copies.rule.ts', 'unknown: oldUnknown || unknown });', 'unknown: oldUnknown });'],
        [
          'records/owed-copies.lua.ts',
          'bit.band(oldMask, bit.bnot(mask)), max(oldUnknown, unknown))',
          'bit.band(oldMask, bit.bnot(mask)), oldUnknown)',
        ],
      ),
      ...contract(
        'ledger-commits.spec.ts',
        'does not forget a copy of unknown fate',
        [
          'records/owed-copies.rule.ts',
          'announced & ~owed.mask);\n  }\n  if (owed.unknown) lose(record, due);',
          'announced & ~owed.mask);\n  }',
        ],
        [
          'schedules/generations.lua.ts',
          'bit.bnot(mask)))\n  end\n  if unknown == 1 then lose(record, due) end',
          'bit.bnot(mask)))\n  end',
        ],
      ),
      ...unit(
        'consumer/finish/copy-deleter.spec.ts',
        'settles nothing that was not found, or whose node was away',
        ['consumer/finish/copy-deleter.ts', 'unknown: delivery.unknown', 'unknown: false'],
      ),
      ...unit('consumer/reserve/delivery.spec.ts', 'is unknown where a put of the primary got no answer', [
        'consumer/reserve/delivery.ts',
        'unknown: this.unknown',
        'unknown: false',
      ]),
    ],
  },
  {
    rule: 'A copy that is settled twice does not pass for another one.',
    mutants: contract(
      'ledger-growth.spec.ts',
      'takes no copy that is settled twice for another one',
      ['records/owed-copies.rule.ts', 'return y * PRIME + ((x * y + x) % PRIME);', 'return 1;'],
      ['records/owed-copies.lua.ts', 'return y * PRIME + (x * y + x) % PRIME', 'return 1'],
    ),
  },
  {
    rule: 'An add that failed is remembered while a copy of it may exist; where there is no room for that, its producer gets an error.',
    mutants: [
      ...contract(
        'ledger-growth.spec.ts',
        'has a small record, and says which of them it cannot remember',
        ['schedules/schedules.rule.ts', `return 'full';`, `return 'aborted';`],
        ['schedules/abort.lua.ts', 'return FULL', 'return ABORTED'],
      ),
      ...contract(
        'ledger-growth.spec.ts',
        'remembers one of which a copy of unknown fate may exist',
        ['records/owed-copies.rule.ts', 'if (record.lostDue !== 0) return;', ''],
        ['records/owed-copies.lua.ts', 'if record.lostDue ~= 0 then return end', ''],
      ),
    ],
  },
  {
    rule: 'A copy is gone for good when its server said DELETED, a minute has passed, and the server neither restarted nor stopped its binlog.',
    mutants: [
      ...unit(
        'consumer/finish/copy-deleter.spec.ts',
        'settles nothing that was not found, or whose node was away',
        ['consumer/finish/copy-deleter.ts', 'answered(gone ? {', 'answered(true ? {'],
        ['copies/deletion.ts', `done(result === 'deleted' && instance`, 'done(instance'],
      ),
      ...unit('ledger/settle-queue.spec.ts', 'holds a deletion back for the 60 s a node may forget', [
        'ledger/settle-queue.ts',
        'const CERTAIN_AFTER_MS = 60_000;',
        'const CERTAIN_AFTER_MS = 0;',
      ]),
      ...unit('ledger/settle-queue.spec.ts', 'leaves out a copy whose node restarted, or is away, by then', [
        'ledger/settle-queue.ts',
        'filter((node) => node.instance === instance)',
        'slice()',
      ]),
      ...unit(
        'ledger/settle-queue.spec.ts',
        'leaves out a copy whose node has stopped its log by then: a restart would bring it back',
        ['ledger/settle-queue.ts', ' && !names.some(({ logStopped }) => logStopped)', ''],
      ),
      ...unit(
        'ledger/settle-queue.spec.ts',
        'believes the node that says that the log has stopped, if two nodes are one server',
        ['ledger/settle-queue.ts', '!names.some(({ logStopped })', '!names.every(({ logStopped })'],
      ),
      ...unit(
        'ledger/settle-handover.spec.ts',
        'hands over to a process that has long been there, and not before it is certain',
        ['ledger/settle-queue.ts', 'group.certainAt - now', '0'],
      ),
      ...server('redis-ledger.spec.ts', 'gives what one process left to one other, once it is certain', [
        'ledger/redis/redis-handover.ts',
        'if tonumber(found[i + 1]) <= now then',
        'if true then',
      ]),
      ...unit('cluster/cluster-node-binlog.spec.ts', 'makes no deletion certain', [
        'cluster/cluster-node.ts',
        `done(error || this.logStopped ? 'away'`,
        `done(error ? 'away'`,
      ]),
    ],
  },
];
