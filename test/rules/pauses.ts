// Rules of a paused tube.
import { contract, inRedisOnly, unit, type Rule } from './rule.js';

export const PAUSES: readonly Rule[] = [
  {
    rule: 'In a paused tube no run is granted, neither the first of a job nor a further one.',
    mutants: [
      ...contract(
        'ledger-pause.spec.ts',
        'grants no further run, and counts no attempt',
        ['runs/runs.rule.ts', 'if (pausedMs !== undefined) return', 'if (false as boolean) return'],
        ['runs/claim.lua.ts', 'if pausedFor then return PAUSED, pausedFor end', ''],
      ),
      ...inRedisOnly('ledger-pause.spec.ts', 'grants no first run, and says when to ask again', [
        'runs/claim.lua.ts',
        'plain and not pausedFor and',
        'plain and',
      ]),
    ],
  },
  {
    rule: 'A pause survives a restart of the embedded node, and so does its end.',
    mutants: unit('ledger/memory/durable-records.spec.ts', 'restores a pause, and ends it', [
      'ledger/memory/durable-records.ts',
      'if (unsaved.pauses) collectText(',
      'if (false as boolean) collectText(',
    ]),
  },
  {
    rule: 'The time of a pause makes no job stale, as far as the job was due then.',
    mutants: [
      ...contract(
        'ledger-pause.spec.ts',
        'does not count the time of a pause',
        ['runs/runs.rule.ts', ' + forgiven(records, due, time)', ''],
        ['runs/claim.lua.ts', ' + forgiven(due) < now', ' < now'],
      ),
      ...contract(
        'ledger-pause.spec.ts',
        'counts no more of a pause than has passed since the job was due',
        ['pauses/pauses.rule.ts', 'Math.max(from, due)', 'from'],
        ['runs/claim.lua.ts', 'max(pauses[i], due)', 'pauses[i]'],
      ),
      ...contract(
        'ledger-pause.spec.ts',
        'makes no job stale while the tube is paused',
        ['runs/runs.rule.ts', 'if (pausedMs !== undefined) return', 'if (false as boolean) return'],
        ['runs/claim.lua.ts', 'if pausedFor then return PAUSED, pausedFor end', ''],
      ),
      ...contract(
        'ledger-pause.spec.ts',
        'counts the oldest pauses as one, with the time between them, when there are too many',
        ['pauses/pauses.rule.ts', '{ from: first.from, to: second.to }, ...rest', 'second, ...rest'],
        [
          'pauses/pauses.lua.ts',
          'table.remove(kept, 2)\n    table.remove(kept, 2)',
          'table.remove(kept, 1)\n    table.remove(kept, 1)',
        ],
      ),
    ],
  },
  {
    rule: 'A pause makes no leftover copy of a job run that is over and forgotten: it forgives no more than the records are kept for.',
    mutants: [
      ...contract(
        'ledger-pause.spec.ts',
        'forgives only its own time, or a leftover copy of a job that ended long ago would run',
        ['pauses/pauses.rule.ts', 'return Math.min(sum, settings.staleAfter);', 'return sum;'],
        ['runs/claim.lua.ts', 'return math.min(sum, STALE_AFTER)', 'return sum'],
      ),
      ...contract(
        'ledger-expiry.spec.ts',
        'of a run is kept for the longest time',
        ['ledger.ts', 'return 2 * staleAfter + 60_000;', 'return staleAfter + 60_000;'],
        [
          'records/record.lua.ts',
          'local KEPT_AFTER = 2 * STALE_AFTER + 60000',
          'local KEPT_AFTER = STALE_AFTER + 60000',
        ],
      ),
    ],
  },
  {
    rule: 'A process that learns of a pause reserves nothing more and holds nothing that is not claimed, until the tube is resumed.',
    mutants: [
      ...unit(
        'consumer/paused-tube.spec.ts',
        'runs nothing, holds nothing and claims nothing more, and resumes within a second of the resume call',
        ['consumer/tube-consumer.ts', 'gate.pause(answer.ms);', ''],
        ['consumer/ledger-gate.ts', 'this.paused = false;\n    this.openIfReady();', ''],
      ),
      ...unit('consumer/paused-tube.spec.ts', 'stays paused for a process that hears from the ledger again', [
        'consumer/ledger-gate.ts',
        'return this.cutOff || this.paused || this.closed',
        'return this.cutOff || this.closed',
      ]),
    ],
  },
];
