// Rules of jobs that expire.
import { contract, inRedisOnly, unit, type Rule } from './rule.js';

const EXPIRES_IN_MEMORY =
  'if (startBy !== undefined && Math.max(now, due) >= startBy && attempt < request.attempts) {';
const EXPIRES_IN_REDIS = 'if startBy and max(now, runDue) >= startBy and attempt < attempts then';

export const EXPIRING: readonly Rule[] = [
  {
    rule: 'No run of a job is granted at its expiry or later, neither the first nor a retry.',
    mutants: [
      ...contract(
        'ledger-expired.spec.ts',
        'grants no further run after one that failed',
        ['runs/runs.rule.ts', EXPIRES_IN_MEMORY, 'if (startBy !== undefined && (false as boolean)) {'],
        ['runs/claim.lua.ts', EXPIRES_IN_REDIS, 'if false then'],
      ),
      ...inRedisOnly('ledger-expired.spec.ts', 'ends it, once, and none of its copies runs', [
        'runs/claim.lua.ts',
        'and (not expiry or now < expiry.by)',
        '',
      ]),
    ],
  },
  {
    rule: 'An expired job has ended: none of its copies runs, nor what was about to replace it by a move.',
    mutants: [
      ...contract(
        'ledger-expired.spec.ts',
        'ends it, once, and none of its copies runs',
        ['runs/runs.rule.ts', "endRun(record, 'revoked');\n  record.expired", 'record.expired'],
        ['runs/claim.lua.ts', "endRun(record, 'v')\n  record.expired", 'record.expired'],
      ),
      ...contract(
        'ledger-expired.spec.ts',
        'ends a newer generation whose commit was lost, and the one it replaced',
        ['runs/runs.rule.ts', 'if (next.committed !== generation) {', 'if (false as boolean) {'],
        [
          'runs/claim.lua.ts',
          'if record.committed ~= generation then\n      if record.state',
          'if false then\n      if record.state',
        ],
      ),
    ],
  },
  {
    rule: 'A run whose lease had ended when its job expired reports nothing any more.',
    mutants: contract(
      'ledger-expired.spec.ts',
      'refuses what a run whose lease had ended reports later',
      [
        'runs/runs.rule.ts',
        'record.fence = newFence(record, time);\n  record.places = [];\n  records',
        'record.places = [];\n  records',
      ],
      [
        'runs/claim.lua.ts',
        'record.expired, record.fence, record.places = true, newFence(record), nil',
        'record.expired, record.places = true, nil',
      ],
    ),
  },
  {
    rule: 'The end of an expired job is remembered while a copy of it may come.',
    mutants: contract(
      'ledger-expired.spec.ts',
      'is remembered while a copy may come, and then like any that ended',
      ['runs/runs.rule.ts', 'owe(record, record.due, owed);', ''],
      ['runs/claim.lua.ts', 'owe(record, record.due, expiry.mask, expiry.unknown)', ''],
    ),
  },
  {
    rule: 'A job that continues as its old generation, since its next copies could not be stored, has the expiry of its next occurrence.',
    mutants: contract(
      'ledger-expired.spec.ts',
      'a job that continues as its old generation has the expiry of its next occurrence',
      ['runs/runs.rule.ts', '(current ? record?.startBy : undefined) ?? expiry.startBy', 'expiry.startBy'],
      ['runs/claim.lua.ts', 'current and record.startBy or expiry.by', 'expiry.by'],
    ),
  },
  {
    rule: 'A granted run that had to wait beyond the expiry, for its turn or the event loop, is handed back and not started.',
    mutants: unit(
      'consumer/expiry.spec.ts',
      'starts no granted run that had to wait for the event loop until then, and ends it',
      [
        'consumer/tube-consumer.ts',
        'const expired = run.startBy !== undefined && context.ledger.now() >= run.startBy;',
        'const expired = false;',
      ],
    ),
  },
  {
    rule: 'The expiry travels in each copy: it counts from the due time of that copy, unless it is a fixed time.',
    mutants: [
      ...unit(
        'consumer/expiry.spec.ts',
        'counts from the new due time when it is moved, unless it is fixed',
        [
          'copies/expiry.ts',
          'return isFixed(given) ? given : Math.ceil(due) + given;',
          'return Math.ceil(due) + given;',
        ],
      ),
      ...unit('consumer/expiry.spec.ts', 'never starts after it, ends once, and leaves no copy', [
        'copies/formats/wire-header.ts',
        'if (expires !== undefined) fields += `,"e":${expires}`;',
        '',
      ]),
    ],
  },
];
