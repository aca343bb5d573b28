import type { TubeWire } from '../../src/dashboard/wire.js';
import { getData, inPath } from '../server/requests.js';
import { live, now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { t } from '../words/language.js';
import { count, duration } from '../words/say.js';
import { Failure } from './failure.js';
import { useLoad } from './load.js';
import { Table } from './table.js';
import { Time } from './time.js';

const FRESH = 5_000;
/** Milliseconds: a job that was due just now is about to run. */
const SOON_MS = 5_000;
/** Tubes that are asked one by one. */
const MAX_ASKED = 10;

/** Overdue jobs by tube, with the oldest due time; nothing if there are none. */
export function Overdue({ tube }: { readonly tube: string | undefined }) {
  const tubes = (live.value?.tubes?.tubes ?? []).filter((each) => tube === undefined || each.tube === tube);
  const { asked, error } = useUntold(tubes);
  const late = [...tubes, ...asked]
    .filter(({ overdueFor = 0 }) => overdueFor > SOON_MS)
    .toSorted((a, b) => b.overdueFor! - a.overdueFor!);
  if (error) return <Failure error={error} />;
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
            cell: (each) => (
              <a class="long" href={hashOf(['tubes', each.tube])}>
                {each.tube}
              </a>
            ),
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

/** The list of all tubes on an embedded node does not tell what is overdue: only a tube by itself does. */
function useUntold(tubes: readonly TubeWire[]) {
  const names = tubes
    .filter(({ due = 0, overdue }) => due > 0 && overdue === undefined)
    .slice(0, MAX_ASKED)
    .map(({ tube }) => tube);
  const ask = (signal: AbortSignal) =>
    Promise.all(names.map((tube) => getData<TubeWire>(`tubes/${inPath(tube)}`, {}, signal)));
  const { data, error } = useLoad(ask, [names.join('\n'), Math.floor(now.value / FRESH)]);
  return { asked: data ?? [], error };
}
