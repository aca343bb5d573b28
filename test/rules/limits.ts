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
        ['limits/limits.rule.ts', 'limitUse.running.size >= concurrency', 'false'],
        ['limits/limits.lua.ts', "call('ZCOUNT', RUNNING, '-inf', '+inf') >= limits.concurrency", 'false'],
      ),
      ...inRedisOnly(SPEC, 'grants runs up to the limit, and another one when one is over', [
        'runs/claim.lua.ts',
        'not pausedFor and not isLimited and',
        'not pausedFor and',
      ]),
      ...contract(
        SPEC,
        'takes the permit of a run back when its lease ends, unless that was renewed',
        ['runs/runs.rule.ts', 'holdPermit(records, request.id, request.permit, leaseEnd, time);', ''],
        ['runs/extend.lua.ts', 'holdPermit(key, permit, record.leaseEnd)', ''],
      ),
      ...contract(
        SPEC,
        'takes no permit back whose lease ended while processes were cut off',
        ['limits/limits.rule.ts', ' && until < sparedFrom', ''],
        ['limits/limits.lua.ts', 'before and before <= now and', 'false and'],
      ),
      ...contract(
        SPEC,
        'is not lifted by a run that was taken over',
        [
          'runs/runs.rule.ts',
          'record.fence !== request.fence) return refuse(records, request, time, record);\n  returnPermit(records, request);',
          'record.fence !== request.fence) {\n    returnPermit(records, request);\n    return refuse(records, request, time, record);\n  }',
        ],
        [
          'runs/complete.lua.ts',
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
        ['runs/runs.rule.ts', '\n  returnPermit(records, request);', ''],
        ['runs/complete.lua.ts', '\n  returnPermit(key, permit)', ''],
      ),
      ...contract(
        SPEC,
        'takes the permit of a group back when the lease ends',
        ['runs/runs.rule.ts', '\n  returnLapsed(records, claiming, time);', ''],
        ['limits/limits.lua.ts', 'if lapsed > 0 then', 'if false then'],
      ),
    ],
  },
  {
    rule: 'A group never has more runs with a lease than its limit, and jobs that wait for their group do not fill a process.',
    mutants: [
      ...contract(
        SPEC,
        'limits the runs of each group, but not those of jobs without a group',
        ['limits/limits.rule.ts', 'group.running >= perGroup', '(false as boolean)'],
        ['limits/limits.lua.ts', 'use[1] >= limits.perGroup', 'false'],
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
        ['limits/limits.rule.ts', 'if (wait <= ahead * 1_000) return', 'if (wait <= Infinity) return'],
        [
          'limits/limits.lua.ts',
          'if wait <= AHEAD * 1000 then return nil end',
          'if true then return nil end',
        ],
      ),
      ...contract(
        SPEC,
        'does not save up more than the burst',
        [
          'limits/limits.rule.ts',
          'Math.max(records.limitUse.turn, us) + interval',
          'records.limitUse.turn + interval',
        ],
        ['limits/limits.lua.ts', 'turn = max(turn, us) + limits.interval', 'turn = turn + limits.interval'],
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
