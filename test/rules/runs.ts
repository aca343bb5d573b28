// Who runs a job: what the ledger says to claims, and of what a run tells it.
import { contract, inMemoryOnly, inRedisOnly, server, unit, type Rule } from './rule.js';

const NEXT_IN_MEMORY = 'Math.max(committed + 1, opened + 1, floor + 1, now)';
const NEXT_IN_REDIS = 'max(record.committed + 1, record.opened + 1, record.floor + 1, now)';

export const RUNS: readonly Rule[] = [
  {
    rule: 'A script that reaches Redis too late does nothing, and the call is repeated with a new time.',
    mutants: [
      ...server(
        'redis-away.long.spec.ts',
        'rejects calls of a frozen server, which is away until it resumes, and runs none of them late',
        ['ledger/records/record.lua.ts', 'if now > tonumber(ARGV[1]) then return { 0, us } end', ''],
      ),
      ...server('redis-ledger.spec.ts', 'repeats a call that came too late, with the right time', [
        'ledger/redis/master.ts',
        '} while (clock.now() - began < GIVE_UP_LATE_MS);',
        '} while (false);',
      ]),
    ],
  },
  {
    rule: 'One of those who claim a due job runs it, as long as the lease lasts.',
    mutants: [
      ...contract(
        'ledger-claims.spec.ts',
        'gives the run of a due job to one of many copies',
        ['runs/runs.rule.ts', 'if ((left > 0 || spared) &&', 'if (spared &&'],
        ['runs/claim.lua.ts', 'if (left > 0 or spared) and', 'if spared and'],
      ),
      ...inRedisOnly('ledger-claims.spec.ts', 'gives the run of a due job to one of many copies', [
        'runs/claim.lua.ts',
        `cmsgpack.pack(record), 'NX', 'PX'`,
        `cmsgpack.pack(record), 'PX'`,
      ]),
    ],
  },
  {
    rule: 'A job that is overdue by more than `staleAfter`, and has no record, or one that does not know it, is not run: its end may be forgotten.',
    mutants: [
      ...contract(
        'ledger-claims.spec.ts',
        'does not run a job that is overdue by more than staleAfter, once its record is gone',
        [
          'runs/runs.rule.ts',
          'if (!current && !live && due + staleAfter + forgiven(records, due, time) < now) {',
          'if (false) {',
        ],
        [
          'runs/claim.lua.ts',
          'if not current and not live and due + STALE_AFTER + forgiven(due) < now then',
          'if false then',
        ],
      ),
      ...contract(
        'ledger-expiry.spec.ts',
        'of a stale copy lets no stale copy of a newer generation run',
        [
          'runs/runs.rule.ts',
          'if (!current && !live && due + staleAfter + forgiven(records, due, time) < now) {',
          'if (!record && due + staleAfter + forgiven(records, due, time) < now) {',
        ],
        [
          'runs/claim.lua.ts',
          'if not current and not live and due + STALE_AFTER + forgiven(due) < now then',
          'if not record and due + STALE_AFTER + forgiven(due) < now then',
        ],
      ),
      ...contract(
        'ledger-claims.spec.ts',
        'does not run it either while its key is being added again',
        ['runs/runs.rule.ts', '(committed !== NO_GENERATION || wasOpened(record, generation))', 'true'],
        ['runs/claim.lua.ts', '(committed ~= -1 or wasOpened(record, generation))', 'true'],
      ),
      ...inRedisOnly(
        'ledger-claims.spec.ts',
        'does not run a job that is overdue by more than staleAfter, once its record is gone',
        ['runs/claim.lua.ts', ' and due + STALE_AFTER >= now', ''],
      ),
    ],
  },
  {
    rule: 'Fences and generations only grow, with a clock that went back and with a Redis that lost everything.',
    mutants: [
      ...contract(
        'ledger-claims.spec.ts',
        'makes a greater fence after everything was wiped',
        ['runs/runs.rule.ts', 'return Math.max(record.fence + 1, time.us);', 'return record.fence + 1;'],
        [
          'records/record.lua.ts',
          'return record and max(record.fence + 1, us) or us',
          'return record and record.fence + 1 or 1',
        ],
      ),
      ...contract(
        'ledger-claims.spec.ts',
        'makes a greater fence although the clock went back',
        ['runs/runs.rule.ts', 'return Math.max(record.fence + 1, time.us);', 'return time.us;'],
        ['records/record.lua.ts', 'return record and max(record.fence + 1, us) or us', 'return us'],
      ),
      ...contract(
        'ledger-schedules.spec.ts',
        'gives a greater one after everything was wiped',
        ['schedules/schedules.rule.ts', NEXT_IN_MEMORY, 'Math.max(committed + 1, opened + 1, floor + 1)'],
        [
          'schedules/open.lua.ts',
          NEXT_IN_REDIS,
          'max(record.committed + 1, record.opened + 1, record.floor + 1)',
        ],
      ),
      ...contract(
        'ledger-schedules.spec.ts',
        'gives a greater one although the clock went back',
        ['schedules/schedules.rule.ts', NEXT_IN_MEMORY, 'Math.max(opened + 1, floor + 1, now)'],
        ['schedules/open.lua.ts', NEXT_IN_REDIS, 'max(record.opened + 1, record.floor + 1, now)'],
      ),
      ...contract(
        'ledger-schedules.spec.ts',
        'gives a greater one although the clock went back',
        ['schedules/schedules.rule.ts', NEXT_IN_MEMORY, 'Math.max(committed + 1, floor + 1, now)'],
        ['schedules/open.lua.ts', NEXT_IN_REDIS, 'max(record.committed + 1, record.floor + 1, now)'],
      ),
      ...contract(
        'ledger-schedules.spec.ts',
        'gives one above what a revoke has voided although the clock went back',
        ['schedules/schedules.rule.ts', NEXT_IN_MEMORY, 'Math.max(committed + 1, opened + 1, now)'],
        ['schedules/open.lua.ts', NEXT_IN_REDIS, 'max(record.committed + 1, record.opened + 1, now)'],
      ),
    ],
  },
  {
    rule: 'A report of a run under a fence that is not the last one is refused.',
    mutants: [
      ...contract(
        'ledger-runs.spec.ts',
        'is refused once another run has taken over',
        [
          'runs/runs.rule.ts',
          'if (!record || record.fence !== request.fence) return refuse(',
          'if (!record) return refuse(',
        ],
        ['runs/complete.lua.ts', 'elseif record.fence ~= fence then', 'elseif false then'],
      ),
      ...contract(
        'ledger-runs.spec.ts',
        'is refused once another run has taken over',
        [
          'runs/runs.rule.ts',
          `if (!record || record.fence !== request.fence) return 'refused';`,
          `if (!record) return 'refused';`,
        ],
        ['runs/extend.lua.ts', 'elseif record.fence ~= fence then', 'elseif false then'],
      ),
    ],
  },
  {
    rule: 'The first run of a generation whose commit never came makes it the job.',
    mutants: contract(
      'ledger-claims.spec.ts',
      'commits it by running it, so that a lost commit loses no job',
      [
        'runs/runs.rule.ts',
        'dropLetter(id, born);\n    swap(next, born, { generation, due, places: [] });',
        'dropLetter(id, born);',
      ],
      [
        'runs/claim.lua.ts',
        '    swap(record, born, generation, due, nil)\n  end\n  -- This',
        '    swap(record, born, record.committed, due, nil)\n  end\n  -- This',
      ],
    ),
  },
  {
    rule: 'A run that returned Again does not run twice because its copies cannot be stored: the old ones wait.',
    mutants: [
      ...unit(
        'consumer/finish/again-not-stored.spec.ts',
        'waits with the copies that it has: a completed run does not run again',
        [
          'consumer/finish/again-scheduler.ts',
          `return { kind: 'later', next };`,
          `return { kind: 'failed', error: new Error(why) };`,
        ],
      ),
      ...unit(
        'consumer/finish/again-not-stored.spec.ts',
        'is not waited for by a drain for longer than half a second, and not run again by it',
        ['consumer/tube-consumer.ts', 'this.again.stopStoring();', ''],
      ),
      ...contract(
        'ledger-again.spec.ts',
        'waits as the same generation with fresh attempts, not as the opened one',
        ['runs/runs.rule.ts', 'if (later) record.attempt = 0;', ''],
        ['runs/complete.lua.ts', 'if later then record.attempt = 0 end', ''],
      ),
      ...contract(
        'ledger-again.spec.ts',
        'waits as the same generation with fresh attempts, not as the opened one',
        ['runs/runs.rule.ts', 'if (opened && (isOver || later)) giveUp', 'if (opened && isOver) giveUp'],
        [
          'runs/complete.lua.ts',
          'goOn(key, record, next, OVER)\n    return record',
          'writeRecord(key, record)\n    return record',
        ],
      ),
      ...contract(
        'ledger-again.spec.ts',
        'is refused once the opened one is the job, whose copies are to stay',
        ['runs/runs.rule.ts', `if (later) return 'refused';`, ''],
        ['runs/complete.lua.ts', 'if later then return REFUSED end', ''],
      ),
    ],
  },
  {
    rule: 'The progress of a job is what its present run reported, and changes nothing else.',
    mutants: [
      ...inMemoryOnly(
        'ledger-progress.spec.ts',
        'is not shown once the lease is over, nor of the next attempt',
        [
          'runs/runs.rule.ts',
          "if (record?.fence !== fence || record.state !== 'running') return;\n  record.progress",
          "if (record?.state !== 'running') return;\n  record.progress",
        ],
      ),
      ...contract(
        'ledger-progress.spec.ts',
        'is ignored unless the job is being run',
        [
          'runs/runs.rule.ts',
          "if (record?.fence !== fence || record.state !== 'running') return;\n  record.progress",
          'if (record?.fence !== fence) return;\n  record.progress',
        ],
        ['runs/progress.lua.ts', 'record.fence ~= fence or not isRunning(record)', 'record.fence ~= fence'],
      ),
      ...inRedisOnly(
        'ledger-progress.spec.ts',
        'changes nothing about the run, and stays when its lease is renewed',
        ['runs/progress.lua.ts', ", 'KEEPTTL')", ')'],
      ),
    ],
  },
];
