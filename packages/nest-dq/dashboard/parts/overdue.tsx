import { live } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { t } from '../words/language.js';
import { count, duration } from '../words/say.js';
import { Table } from './table.js';
import { Time } from './time.js';

/** What should have run, and since when; nothing if nothing is overdue. */
export function Overdue({ tube }: { readonly tube: string | undefined }) {
  const late = (live.value?.tubes?.tubes ?? [])
    .filter((each) => (each.overdue ?? 0) > 0 && (tube === undefined || each.tube === tube))
    .toSorted((a, b) => (b.overdueFor ?? 0) - (a.overdueFor ?? 0));
  if (late.length === 0) return null;
  return (
    <section class="card warn" aria-label={t('overdue')}>
      <h2>{t('overdue')}</h2>
      <Table
        label={t('overdue')}
        rows={late}
        keyOf={(each) => each.tube}
        empty=""
        columns={[
          {
            head: t('tube'),
            cell: (each) => <a href={hashOf(['tubes', each.tube])}>{each.tube}</a>,
          },
          {
            head: t('timeline.jobs'),
            number: true,
            cell: (each) => (
              <a href={hashOf(['waiting'], { tube: each.tube, state: 'due' })}>{count(each.overdue)}</a>
            ),
          },
          { head: t('overdue.since'), cell: (each) => each.oldestDue && <Time at={each.oldestDue} /> },
          { head: t('overdue.for'), number: true, cell: (each) => duration(each.overdueFor) },
        ]}
      />
    </section>
  );
}
