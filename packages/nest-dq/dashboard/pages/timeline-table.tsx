import type { Span } from '../figures/scales.js';
import type { TubeCounts } from '../figures/stack.js';
import { Table } from '../parts/table.js';
import { hashOf } from '../state/route.js';
import { t } from '../words/language.js';
import { count, roundTime } from '../words/say.js';

const MAX_ROWS = 500;

/** The chart as a table: only the times in which something comes due. */
export function TimelineTable({
  span,
  tubes,
}: {
  readonly span: Span;
  readonly tubes: readonly TubeCounts[];
}) {
  const rows = Array.from({ length: span.bars }, (_, bar) =>
    tubes
      .filter(({ counts }) => (counts[bar] ?? 0) > 0)
      .map(({ tube, counts }) => ({
        tube,
        from: span.edges[bar]!,
        to: span.edges[bar + 1]!,
        jobs: counts[bar]!,
      })),
  ).flat();
  return (
    <details>
      <summary>{t('timeline.table')}</summary>
      <Table
        label={t('timeline.table')}
        rows={rows.slice(0, MAX_ROWS)}
        keyOf={({ tube, from }) => `${from} ${tube}`}
        empty={t('timeline.none')}
        columns={[
          { head: t('timeline.from'), place: 'lead', cell: ({ from }) => roundTime(from) },
          { head: t('timeline.to'), place: 'named', cell: ({ to }) => roundTime(to) },
          { head: t('tube'), cell: ({ tube }) => tube },
          {
            head: t('timeline.jobs'),
            place: 'end',
            number: true,
            cell: ({ tube, from, to, jobs }) => (
              <a
                href={hashOf(['waiting'], {
                  tube,
                  from: new Date(from).toISOString(),
                  to: new Date(to).toISOString(),
                })}
              >
                {count(jobs)}
              </a>
            ),
          },
        ]}
      />
    </details>
  );
}
