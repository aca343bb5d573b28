import { server, unit, type Rule } from './rule.js';

const KEEPER = 'recurring/series-keeper.ts';

/** Rules of series made at run time. */
export const SERIES: readonly Rule[] = [
  {
    rule: 'A series made at run time continues after a crash between its upsert and its job, and between two jobs.',
    mutants: [
      ...unit(
        'recurring/series-keeper.spec.ts',
        'after its upsert gets its job from another process, within 45 s',
        [
          'fleet/local-series-plans.ts',
          'entry, check: this.soon, missed: undefined',
          'entry, missed: undefined',
        ],
      ),
      ...unit(
        'recurring/series-keeper.spec.ts',
        'when its job had ended gets the next one within 75 s of its time',
        [KEEPER, 'next: Math.max(dueAt, seenAt) + pause,', 'next: undefined,'],
      ),
      ...unit('recurring/series-keeper.spec.ts', 'after another plan was stored moves, within 45 s', [
        'recurring/series.ts',
        'if (!headers || this.isPlanned(headers)) return present;',
        'if (headers) return present;',
      ]),
      ...server('series-plans.spec.ts', 'gives a due check to one process, and puts it off', [
        'fleet/redis-series-plans.ts',
        "for _, name in ipairs(names) do call('ZADD', CHECKS, now",
        "for _, name in ipairs({}) do call('ZADD', CHECKS, now",
      ]),
    ],
  },
  {
    rule: 'A removed series does not run, even if its process dies before its occurrence is revoked.',
    mutants: [
      ...unit(
        'recurring/series-keeper.spec.ts',
        'of a removed series, or in a tube that it has left, does not run',
        [
          KEEPER,
          'entry.begunAt === undefined || entry.spec.tube !== job.tube',
          'entry.spec.tube !== job.tube',
        ],
      ),
      ...unit('recurring/series-keeper.spec.ts', 'after it marked it as removed is revoked, and forgotten', [
        KEEPER,
        'await this.parts.producer.revoke({ tube: entry.spec.tube, key: seriesKey(name) });',
        '',
      ]),
    ],
  },
  {
    rule: 'Concurrent changes of a series end in one of them.',
    mutants: [
      ...server('series-plans.spec.ts', 'notes a check only if the plan is still the same', [
        'fleet/redis-series-plans.ts',
        'if present ~= entry then',
        'if not present then',
      ]),
      ...unit(
        'recurring/series-keeper.spec.ts',
        'gives way to a plan that was stored while it added its job',
        [KEEPER, 'if (job && other === undefined) return job;', 'if (job) return job;'],
      ),
    ],
  },
  {
    rule: 'A series made at run time adds no job to a tube whose jobs are sealed.',
    mutants: unit(
      'recurring/series-keeper.spec.ts',
      'adds no job to a tube whose jobs are sealed, whoever wrote the plan',
      [KEEPER, 'if (!this.mayAdd(entry)) return undefined;', ''],
    ),
  },
];
