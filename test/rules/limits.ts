// Rules of a tube's limits.
import { contract, inRedisOnly, unit, type Rule } from './rule.js';

const SPEC = 'ledger-limits.spec.ts';

export const LIMITS: readonly Rule[] = [
  {
    rule: 'A tube with a concurrency limit never has more runs with a lease than that, whoever claims.',
    mutants: [
      ...contract(
        SPEC,
        'grants runs up to the limit, and another one when one is over',
        ['rules/limits.ts', 'limitUse.running.size >= concurrency', 'false'],
        ['parts/limits.ts', "call('ZCOUNT', RUNNING, '-inf', '+inf') >= limits.concurrency", 'false'],
      ),
      ...inRedisOnly(SPEC, 'grants runs up to the limit, and another one when one is over', [
        'verbs/claim.ts',
        'not pausedFor and not isLimited and',
        'not pausedFor and',
      ]),
      ...contract(
        SPEC,
        'takes the permit of a run back when its lease ends, unless that was renewed',
        ['rules/runs.ts', 'holdPermit(records, request.id, request.permit, leaseEnd, time);', ''],
        ['verbs/extend.ts', 'holdPermit(key, permit, record.leaseEnd)', ''],
      ),
      ...contract(
        SPEC,
        'takes no permit back whose lease ended while processes were cut off',
        ['rules/limits.ts', ' && until < sparedFrom', ''],
        ['parts/limits.ts', 'before and before <= now and', 'false and'],
      ),
      ...contract(
        SPEC,
        'is not lifted by a run that was taken over',
        [
          'rules/runs.ts',
          'record.fence !== request.fence) return refuse(records, request, time, record);\n  returnPermit(records, request);',
          'record.fence !== request.fence) {\n    returnPermit(records, request);\n    return refuse(records, request, time, record);\n  }',
        ],
        [
          'verbs/complete.ts',
          'elseif record.fence ~= fence then\n    return',
          'elseif record.fence ~= fence then\n    returnPermit(key, permit)\n    return',
        ],
      ),
      ...unit('consumer/limited-tube.spec.ts', 'holds in all processes together, and wastes no time', [
        'consumer/finish/run-completion.ts',
        'lastOk, permit, owed, outcome }',
        'lastOk, owed, outcome }',
      ]),
    ],
  },
  {
    rule: 'The permit of a run that ended, however it ended, is free at once; that of a process that died silently is free when its lease ends.',
    mutants: [
      ...contract(
        SPEC,
        'grants the next run when a run of a revoked job is over',
        ['rules/runs.ts', '\n  returnPermit(records, request);', ''],
        ['verbs/complete.ts', '\n  returnPermit(key, permit)', ''],
      ),
      ...contract(
        SPEC,
        'takes the permit of a group back when the lease ends',
        ['rules/runs.ts', '\n  returnLapsed(records, claiming, time);', ''],
        ['parts/limits.ts', 'if lapsed > 0 then', 'if false then'],
      ),
    ],
  },
  {
    rule: 'A group never has more runs with a lease than its limit, and jobs that wait for their group do not fill a process.',
    mutants: [
      ...contract(
        SPEC,
        'limits the runs of each group, but not those of jobs without a group',
        ['rules/limits.ts', 'group.running >= perGroup', '(false as boolean)'],
        ['parts/limits.ts', 'use[1] >= limits.perGroup', 'false'],
      ),
      ...unit('consumer/limited-tube.spec.ts', 'runs one job of a group at a time, and starves no other', [
        'consumer/claim/limited-copies.ts',
        'if (count() < most) return true;',
        'if (count() < Infinity) return true;',
      ]),
    ],
  },
  {
    rule: 'The rate grants no run before its turn, whoever claims, and no more at once than the burst.',
    mutants: [
      ...contract(
        SPEC,
        'grants as many at once as the burst says',
        ['rules/limits.ts', 'if (wait <= ahead * 1_000) return', 'if (wait <= Infinity) return'],
        ['parts/limits.ts', 'if wait <= AHEAD * 1000 then return nil end', 'if true then return nil end'],
      ),
      ...contract(
        SPEC,
        'does not save up more than the burst',
        [
          'rules/limits.ts',
          'Math.max(records.limitUse.turn, us) + interval',
          'records.limitUse.turn + interval',
        ],
        ['parts/limits.ts', 'turn = max(turn, us) + limits.interval', 'turn = turn + limits.interval'],
      ),
      ...unit('ledger/memory/durable-records.spec.ts', 'restores the turn of a rate', [
        'ledger/memory/durable-records.ts',
        'if (unsaved.turn) collectText(',
        'if (false as boolean) collectText(',
      ]),
      ...unit('consumer/run/start-scheduler.spec.ts', 'begins no run before its turn', [
        'consumer/run/run.ts',
        'return Math.max(due, notBefore);',
        'return due;',
      ]),
    ],
  },
];
