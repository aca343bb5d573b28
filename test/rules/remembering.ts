// For how long the ledger remembers a job: while a copy may be left that would ask for it.
import { contract, inRedisOnly, unit, type Rule } from './rule.js';

export const REMEMBERING: readonly Rule[] = [
  {
    rule: 'An outcome is taken for a record that was lost only while no later end of the job can be forgotten.',
    mutants: [
      ...contract(
        'ledger.spec.ts',
        'is refused without a record once the last OK is older than an end is remembered',
        ['memory-records.ts', 'if (now - run.lastOk >= this.settings.doneTtl) return undefined;', ''],
        [
          'finish.lua.ts',
          'if now - args[a + 5] >= DONE_TTL then return refuse(key, record, a, outcome) end',
          '',
        ],
      ),
      ...inRedisOnly(
        'ledger.spec.ts',
        'is refused without a record once the last OK is older than an end is remembered',
        ['extend.lua.ts', 'if now - args[a + 5] >= DONE_TTL then return REFUSED end', ''],
      ),
      ...contract(
        'ledger.spec.ts',
        'is accepted without a record while the last OK is young, and remembered',
        [
          'memory-runs.ts',
          'records.read(id, time) ?? records.madeAnew(request, time);',
          'records.read(id, time);',
        ],
        ['finish.lua.ts', 'if now - args[a + 5] >= DONE_TTL then', 'if true then'],
      ),
    ],
  },
  {
    rule: 'A record is kept until none of the copies is left that may exist: of every generation, from its opening on.',
    mutants: [
      ...contract(
        'ledger-expiry.spec.ts',
        'is forgotten soon after the end once every copy is settled, and not before',
        [
          'job-record.ts',
          'if (ended && record.owed.length === 0 && record.holdEnd',
          'if (ended && record.holdEnd',
        ],
        ['prelude.lua.ts', 'if ended and not owed and record.holdEnd', 'if ended and record.holdEnd'],
      ),
      ...contract(
        'ledger-schedules.spec.ts',
        'keeps a record for as long as its copies may come due',
        ['job-record.ts', '...record.owed.map((each) => each.due),', ''],
        ['prelude.lua.ts', 'last = max(last, owed[i])', ''],
      ),
      ...inRedisOnly('ledger-expiry.spec.ts', 'of a retry is kept until long after it is due', [
        'prelude.lua.ts',
        'if leaseUntil and last <= leaseUntil then',
        'if leaseUntil then',
      ]),
      ...contract(
        'ledger-schedules.spec.ts',
        'keeps a record for as long as its copies may come due',
        ['memory-schedules.ts', 'owe(record, generation, due, owed);', ''],
        ['open.lua.ts', '  owe(record, generation, due, mask, unknown)', ''],
      ),
      ...unit(
        'producer/adds.spec.ts',
        'owes every copy from its opening on, for its process may die before the commit',
        ['copy-storing.ts', 'mask: 2 ** cluster.settings.replicas - 1', 'mask: 0'],
      ),
      ...contract(
        'ledger-expiry.spec.ts',
        'is forgotten soon after the end once every copy is settled, and not before',
        ['memory-runs.ts', 'owe(record, generation, surfaces, owed);', ''],
        ['finish.lua.ts', 'owe(record, generation, surfaces, args[a + 6], args[a + 7])', ''],
      ),
      ...inRedisOnly(
        'ledger-again.spec.ts',
        'keeps the old copies in mind for as long as they are not settled',
        ['finish.lua.ts', 'owe(record, generation, due, args[a + 6], args[a + 7])', ''],
      ),
      ...unit('consumer/delivery.spec.ts', 'is every copy that was meant to be, as far as a backup knows', [
        'consumer/delivery.ts',
        'mask: 2 ** copies - 1',
        'mask: 1 << this.header.index',
      ]),
      ...contract(
        'ledger-schedules.spec.ts',
        'goes on owing the copies of the generation that it replaced',
        [
          'job-record.ts',
          'record.aborted = record.aborted.filter((each) => each > generation);',
          'record.owed = record.owed.filter((each) => each.generation === generation);',
        ],
        [
          'prelude.lua.ts',
          'keepAbortedAbove(record, generation)\n  record.born',
          'record.owed = nil\n  record.born',
        ],
      ),
      ...contract(
        'ledger-moves.spec.ts',
        'owes the old copies and the new',
        [
          'memory-schedules.ts',
          'if (known?.generation === committed) owe(record, committed, known.due, known.owed);',
          '',
        ],
        [
          'open.lua.ts',
          'if known == record.committed then owe(record, known, knownDue, knownMask, knownUnknown) end',
          '',
        ],
      ),
      ...contract(
        'ledger-revoke.spec.ts',
        'does not forget the copies that only the reference knows of',
        ['memory-schedules.ts', 'if (committed === born) owe(record, committed, due, owed);', ''],
        ['revoke.lua.ts', 'if committed == born then owe(record, committed, due, mask, unknown) end', ''],
      ),
    ],
  },
  {
    rule: 'A copy of unknown fate is never taken for gone.',
    mutants: [
      ...contract(
        'ledger-expiry.spec.ts',
        'is kept while a copy of unknown fate may exist, whatever is settled',
        ['job-record.ts', 'each.mask !== 0 || each.unknown', 'each.mask !== 0'],
        ['prelude.lua.ts', 'if mask ~= 0 or unknown ~= 0 then', 'if mask ~= 0 then'],
      ),
      ...contract(
        'ledger-expiry.spec.ts',
        'learns of a copy of unknown fate from a settle',
        ['job-record.ts', 'entry.unknown ||= unknown;', ''],
        [
          'prelude.lua.ts',
          'bit.band(oldMask, bit.bnot(mask)), max(oldUnknown, unknown))',
          'bit.band(oldMask, bit.bnot(mask)), oldUnknown)',
        ],
      ),
      ...unit('consumer/deletions.spec.ts', 'settles nothing that was not found, or whose node was away', [
        'consumer/deletions.ts',
        'unknown: delivery.unknown',
        'unknown: false',
      ]),
      ...unit('consumer/delivery.spec.ts', 'is unknown where a put of the primary got no answer', [
        'consumer/delivery.ts',
        'unknown: this.unknown',
        'unknown: false',
      ]),
    ],
  },
  {
    rule: 'A copy is gone for good when its server said DELETED, a minute has passed, and the server neither restarted nor stopped its binlog.',
    mutants: [
      ...unit(
        'consumer/deletions.spec.ts',
        'settles nothing that was not found, or whose node was away',
        ['consumer/deletions.ts', 'answered(gone ? {', 'answered(true ? {'],
        ['copy-deletion.ts', `done(result === 'deleted' && node &&`, 'done(node &&'],
      ),
      ...unit('ledger/settle-queue.spec.ts', 'holds a deletion back for the 60 s a node may forget', [
        'ledger/settle-queue.ts',
        'const CERTAIN_AFTER = 60_000;',
        'const CERTAIN_AFTER = 0;',
      ]),
      ...unit('ledger/settle-queue.spec.ts', 'leaves out a copy whose node restarted, or is away, by then', [
        'ledger/settle-queue.ts',
        'node.instance === instance && !node.logStopped',
        '!node.logStopped',
      ]),
      ...unit(
        'ledger/settle-queue.spec.ts',
        'leaves out a copy whose node has stopped its log by then: a restart would bring it back',
        [
          'ledger/settle-queue.ts',
          'node.instance === instance && !node.logStopped',
          'node.instance === instance',
        ],
      ),
      ...unit('cluster/cluster-node.spec.ts', 'makes no deletion certain', [
        'cluster/cluster-node.ts',
        `done(error || this.logStopped ? 'away'`,
        `done(error ? 'away'`,
      ]),
    ],
  },
];
