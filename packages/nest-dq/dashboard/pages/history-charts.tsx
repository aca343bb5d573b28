import { useMemo } from 'preact/hooks';
import type { HistoryQuery, HistoryWire } from '../../src/dashboard/wire.js';
import { Columns } from '../charts/columns.js';
import { LatenessChart } from '../charts/lateness-chart.js';
import { Legend } from '../charts/legend.js';
import { barsOf, COUNTED } from '../figures/history.js';
import { barAt, spanOf, type Span } from '../figures/scales.js';
import { offsetAt } from '../figures/times.js';
import { zone } from '../figures/zone.js';
import { Amount } from '../parts/amount.js';
import { Failure } from '../parts/failure.js';
import { useLoad } from '../parts/load.js';
import { Table } from '../parts/table.js';
import { getData } from '../server/requests.js';
import { live, now } from '../state/live.js';
import { t } from '../words/language.js';
import { count, duration, roundTime } from '../words/say.js';
import { lateText } from '../words/late.js';

const MINUTE = 60_000;
const MAX_BARS = 96;
const COLOURS = {
  scheduled: 'series-other',
  started: 'series-1',
  completed: 'series-0',
  failed: 'series-2',
  dead: 'series-5',
  expired: 'series-3',
} as const;

/** Counts and lateness over time: charts, and the table behind them. */
export function HistoryCharts({
  tube,
  length,
}: {
  readonly tube: string | undefined;
  readonly length: number;
}) {
  const turn = Math.floor(now.value / MINUTE);
  const span = useMemo(() => {
    const end = (turn + 1) * MINUTE;
    return spanOf(end - length, end, MAX_BARS, offsetAt);
  }, [turn, length, zone.value]);
  const query: HistoryQuery = {
    tube,
    from: isoOf(span.from),
    to: isoOf(span.to),
    minutes: span.step / MINUTE,
  };
  const { data, error } = useLoad(
    (signal) => getData<HistoryWire>('history', query, signal),
    [tube, length, turn, zone.value],
    `history ${length} ${tube ?? ''}`,
  );
  const bars = useMemo(() => barsOf(data ?? [], span), [data, span]);
  const layersOf = (names: readonly (keyof typeof COLOURS)[]) =>
    names.map((name) => ({ name: t(`history.${name}`), colour: COLOURS[name], values: bars.counts[name] }));
  // A job that dies is no run of its own: its last run failed.
  const charts = [
    { title: t('history.ends'), layers: layersOf(['completed', 'failed']), mean: bars.mean, isOfRuns: true },
    { title: t('nav.dead'), layers: layersOf(['dead']) },
    { title: t('history.added'), layers: layersOf(['scheduled']) },
    ...(bars.counts.expired.some((jobs) => jobs > 0)
      ? [{ title: t('history.expiredJobs'), layers: layersOf(['expired']) }]
      : []),
  ];
  const lines = [
    { colour: 'series-0', name: t('tube.p50'), values: bars.p50 },
    { colour: 'series-2', name: t('tube.p99'), values: bars.p99 },
  ];
  const starts = startsOf(span, tube);
  const overlay = { marks: starts.map(({ bar }) => ({ at: span.edges[bar]!, kind: 'start' as const })) };
  const signs = starts.length > 0 ? [{ colour: 'sign-start', name: t('sign.starts') }] : [];
  const notes = (bar: number) =>
    starts
      .filter((each) => each.bar === bar)
      .map(({ processes }) => ({ colour: 'sign-start', name: t('sign.start'), text: count(processes) }));
  const rows = Array.from({ length: span.bars }, (_, bar) => bar).filter((bar) =>
    COUNTED.some((name) => bars.counts[name][bar]! > 0),
  );
  if (!data) return error ? <Failure error={error} /> : <p class="faint">{t('loading')}</p>;
  return (
    <>
      {error && <Failure error={error} />}
      <div class="columns wide">
        {charts.map(({ title, layers, mean, isOfRuns }) => (
          <section class="card" aria-label={title} key={title}>
            <h2>{title}</h2>
            <Columns label={title} span={span} layers={layers} {...(isOfRuns && { overlay, notes })} />
            <Legend entries={isOfRuns ? [...layers, ...signs] : layers} />
            {mean !== undefined && (
              <p class="faint small">{t('history.mean', { duration: duration(mean) })}</p>
            )}
          </section>
        ))}
        <section class="card" aria-label={t('history.lateness')}>
          <h2>{t('history.lateness')}</h2>
          <LatenessChart
            label={t('history.lateness')}
            span={span}
            lines={lines}
            overlay={overlay}
            notes={notes}
          />
          <Legend entries={[...lines, ...signs]} />
        </section>
      </div>
      <details>
        <summary>{t('history.table')}</summary>
        <Table
          label={t('history.table')}
          rows={rows}
          keyOf={String}
          empty={t('history.none')}
          columns={[
            { head: t('timeline.from'), place: 'lead', cell: (bar) => roundTime(span.edges[bar]!) },
            ...COUNTED.map((name) => ({
              head: t(`history.${name}`),
              number: true,
              cell: (bar: number) => <Amount of={bars.counts[name][bar]} />,
            })),
            { head: t('tube.meanRun'), number: true, cell: (bar) => duration(bars.means[bar]) },
            { head: t('tube.p50'), number: true, cell: (bar) => lateText(bars.p50[bar]) },
            { head: t('tube.p99'), number: true, cell: (bar) => lateText(bars.p99[bar]) },
          ]}
        />
      </details>
    </>
  );
}

/** The bars in which processes started that run now: a deploy is seen next to what it led to. */
function startsOf(
  span: Span,
  tube: string | undefined,
): { readonly bar: number; readonly processes: number }[] {
  const ofTube = (live.value?.processes ?? []).filter(
    ({ tubes }) => tube === undefined || tubes.some((each) => each.tube === tube),
  );
  const byBar = new Map<number, number>();
  for (const { since } of ofTube) {
    const bar = barAt(span, Date.parse(since));
    if (bar >= 0) byBar.set(bar, (byBar.get(bar) ?? 0) + 1);
  }
  return Array.from(byBar, ([bar, processes]) => ({ bar, processes }));
}

function isoOf(at: number): string {
  return new Date(at).toISOString();
}
