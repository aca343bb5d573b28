import { useEffect, useState } from 'preact/hooks';
import type { HistoryWire, TubeWire } from '../../src/dashboard/wire.js';
import { TubeButtons } from '../acts/tube-buttons.js';
import { LatenessChart } from '../charts/lateness-chart.js';
import { barsOf, paceOf, type Pace } from '../figures/history.js';
import { spanOf, type Span } from '../figures/scales.js';
import { offsetAt } from '../figures/times.js';
import { Failure } from '../parts/failure.js';
import { Overdue } from '../parts/overdue.js';
import { Paused } from '../parts/paused.js';
import { Table } from '../parts/table.js';
import { getData } from '../server/requests.js';
import { live, now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { route } from '../state/router.js';
import { t } from '../words/language.js';
import { lateText, rateText } from '../words/late.js';
import { limitsText } from '../words/limits.js';
import { count } from '../words/say.js';
import { TubePage } from './tube-page.js';

const MINUTE = 60_000;
/** Milliseconds that the small charts show, and of which the rate is told. */
const SHOWN = 120 * MINUTE;
const PACE = 15 * MINUTE;
const MOST_BARS = 60;
/** The history of other tubes is on their own pages. */
const MOST_RECENT = 25;

/** One tube if the address names it, else all. */
export function TubesPage() {
  const tube = route.value.path[1];
  return tube === undefined ? <AllTubes /> : <TubePage key={tube} tube={tube} />;
}

function AllTubes() {
  const list = live.value?.tubes;
  const tubes = list?.tubes ?? [];
  const { recent, error } = useRecent(tubes.slice(0, MOST_RECENT).map(({ tube }) => tube));
  const problem = live.value?.errors?.tubes;
  const paceIn = ({ tube }: TubeWire) => recent[tube]?.pace;
  return (
    <>
      <h1>{t('nav.tubes')}</h1>
      {problem !== undefined && <Failure error={new Error(problem)} />}
      {error && <Failure error={error} />}
      {list && list.away.length > 0 && (
        <p class="card warn">{t('tubes.away', { nodes: list.away.join(', ') })}</p>
      )}
      <Overdue tube={undefined} />
      <Table
        label={t('nav.tubes')}
        rows={tubes}
        keyOf={({ tube }) => tube}
        empty={live.value ? t('tubes.none') : t('loading')}
        columns={[
          { head: t('tube'), cell: Name },
          { head: t('tube.waiting'), number: true, cell: (tube) => count(tube.waiting) },
          { head: t('tube.due'), number: true, cell: (tube) => count(tube.due) },
          { head: t('tube.running'), number: true, cell: (tube) => count(tube.running) },
          { head: t('tube.dead'), number: true, cell: Dead },
          { head: t('tube.rate'), number: true, cell: (tube) => rateText(paceIn(tube)) },
          { head: t('tube.p50'), number: true, cell: (tube) => lateText(paceIn(tube)?.p50) },
          { head: t('tube.p99'), number: true, cell: (tube) => lateText(paceIn(tube)?.p99) },
          { head: t('tube.lateness'), cell: ({ tube }) => recent[tube] && <Spark {...recent[tube]} /> },
          { head: t('tube.consumers'), number: true, cell: (tube) => count(tube.consumers) },
          { head: t('tube.limits'), cell: ({ limits }) => limitsText(limits) },
          { head: t('acts'), quiet: true, cell: (tube) => <TubeButtons tube={tube} /> },
        ]}
      />
      {list?.more && <p class="faint">{t('tubes.more')}</p>}
      <p class="faint small">{t('tubes.about')}</p>
    </>
  );
}

function Name({ tube, paused }: TubeWire) {
  return (
    <>
      <a class="long" href={hashOf(['tubes', tube])}>
        {tube}
      </a>{' '}
      <Paused paused={paused} />
    </>
  );
}

function Dead({ tube, dead }: TubeWire) {
  if (!dead) return count(dead);
  return (
    <a class="bad" href={hashOf(['dead'], { tube })}>
      {count(dead)}
    </a>
  );
}

/** What a tube did within the last hours. */
interface Recent {
  readonly pace: Pace;
  readonly span: Span;
  readonly p50: readonly (number | undefined)[];
  readonly p99: readonly (number | undefined)[];
}

function Spark({ span, p50, p99 }: Recent) {
  const lines = [
    { colour: 'series-2', values: p99 },
    { colour: 'series-0', values: p50 },
  ];
  return <LatenessChart label={t('history.lateness')} span={span} lines={lines} small />;
}

/** By tube, read again each minute, one after the other. */
function useRecent(tubes: readonly string[]) {
  const [recent, setRecent] = useState<Readonly<Record<string, Recent>>>({});
  const [error, setError] = useState<Error>();
  const turn = Math.floor(now.value / MINUTE);
  useEffect(() => {
    const stop = new AbortController();
    const end = now.peek();
    const span = spanOf(end - SHOWN, end, MOST_BARS, offsetAt);
    const query = { from: new Date(span.from).toISOString(), to: new Date(end).toISOString() };
    const load = async () => {
      for (const tube of tubes) {
        const minutes = await getData<HistoryWire>('history', { ...query, tube }, stop.signal);
        const { p50, p99 } = barsOf(minutes, span);
        const told = { pace: paceOf(minutes, end, PACE), span, p50, p99 };
        setRecent((others) => ({ ...others, [tube]: told }));
      }
      setError(undefined);
    };
    load().catch((caught: Error) => !stop.signal.aborted && setError(caught));
    return () => stop.abort();
  }, [turn, tubes.join('\n')]);
  return { recent, error };
}
