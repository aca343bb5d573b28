// Finished jobs: what is kept of them, and that nothing depends on it.
import { contract, server, type Rule } from './rule.js';

export const FINISHED: readonly Rule[] = [
  {
    rule: 'A completed job is kept exactly if the ledger accepted its end, and keeping it fails no completion.',
    mutants: [
      ...contract(
        'ledger-finished.spec.ts',
        'are only those that the ledger accepted as done',
        [
          'runs/runs.rule.ts',
          "  const later = outcome.kind === 'later';",
          "  const later = outcome.kind === 'later';\n  if (outcome.kind === 'done' && outcome.kept) keepFinished(records, id, outcome.kept, time);",
        ],
        [
          'runs/complete.lua.ts',
          '  local kind = more.kind or outcome\n',
          '  local kind = more.kind or outcome\n  if more.entry then keepLater(key, more.entry, more.period, more.max) end\n',
        ],
      ),
      ...server(
        'redis-ledger.spec.ts',
        'completes jobs although another program wrote the key %s of those that are kept',
        ['ledger/finished/finished.lua.ts', 'pcall(keepEach)', 'keepEach()'],
      ),
    ],
  },
  {
    rule: 'Of the completed jobs that are kept, those that are too old or too many go, and in parts.',
    mutants: [
      ...contract(
        'ledger-finished.spec.ts',
        'go with the next completion: the oldest beyond the count',
        ['finished/finished.rule.ts', 'kept.inOrder.length - max', 'kept.inOrder.length'],
        ['finished/finished.lua.ts', 'all - keptMax', 'all'],
      ),
      ...contract(
        'ledger-finished.spec.ts',
        'go with the next completion: those that are too old',
        ['finished/finished.rule.ts', "kept.countBefore({ ended: now - period, id: '' })", '0'],
        ['finished/finished.lua.ts', "'(' .. now - keptFor", "'(' .. 0"],
      ),
      ...contract(
        'ledger-finished.spec.ts',
        'go all at once when no job has finished for that long',
        ['finished/finished-jobs.ts', 'last.keptUntil <= now', 'last.keptUntil <= 0'],
        [
          'finished/finished.lua.ts',
          "  call('PEXPIRE', FINISHED, keptFor)\n  call('PEXPIRE', ENDS, keptFor)\n",
          '',
        ],
      ),
      ...contract(
        'ledger-finished.spec.ts',
        'go in parts, so that no call takes long',
        ['finished/finished.rule.ts', ', 1 + MORE_TRIMMED)', ', 1_000)'],
        ['finished/finished.lua.ts', ' / 2 + ${MORE_TRIMMED})', ' / 2 + 1000)'],
      ),
    ],
  },
];
