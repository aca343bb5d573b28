import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { ForecastWire, LateTubesWire, TimelinesWire } from '../../src/dashboard/wire.js';
import { dueOf } from '../../src/operate/due.js';
import { ActButton } from '../acts/act-button.js';
import { askOnDemand } from './load-on-demand.js';
import { Bars } from '../charts/bars.js';
import { Legend } from '../charts/legend.js';
import { drawnLine, type Overlay } from '../charts/overlay.js';
import { highestOf, type Layer } from '../charts/stacked.js';
import { coloursOf } from '../figures/colours.js';
import { barAt, capacityLine, clockChanges, spanOf, type Span } from '../figures/scales.js';
import { offsetAt } from '../figures/times.js';
import { stackOf, type Stack, type TubeCounts } from '../figures/stack.js';
import { zone } from '../figures/zone.js';
import { Facts } from '../parts/facts.js';
import { Failure } from '../parts/failure.js';
import { useLoad } from '../parts/load.js';
import { Problems } from '../parts/problems.js';
import { Choice } from '../parts/choice.js';
import { TubeSelect } from '../parts/tube-select.js';
import { getData, inPath } from '../server/requests.js';
import { live, now } from '../state/live.js';
import { go, goOnFrom, route } from '../state/router.js';
import { hashOf } from '../state/route.js';
import { t } from '../words/language.js';
import { capacityText, latenessText, spansText } from '../words/lateness.js';
import { count, duration, roundTime } from '../words/say.js';
import { TimelineTable } from './timeline-table.js';

/** Milliseconds, and bars: minutes, half hours and days, one more each, as a span begins within one. */
const SPANS = {
  hour: { length: 3_600_000, most: 62 },
  day: { length: 86_400_000, most: 62 },
  month: { length: 30 * 86_400_000, most: 32 },
} as const;
const NAMES = ['hour', 'day', 'month'] as const;
const MAX_ZOOMED = 62;
/** Tubes with a colour of their own. */
const MAX_COLOURED = 6;
/** Milliseconds between two loads. */
const FRESH_MS = 10_000;

/** Upcoming jobs by tube, and the tubes with problems. */
export function TimelinePage() {
  const { query } = route.value;
  const name = NAMES.find((each) => each === query['span']) ?? 'hour';
  const { tube, from, to, bar } = query;
  const isZoomed = from !== undefined && to !== undefined && Date.parse(from) < Date.parse(to);
  const turn = Math.floor(now.value / FRESH_MS);
  const asked = useMemo(() => {
    const begin = isZoomed ? Date.parse(from) : now.value;
    const end = isZoomed ? Date.parse(to) : now.value + SPANS[name].length;
    return spanOf(begin, end, isZoomed ? MAX_ZOOMED : SPANS[name].most, offsetAt);
  }, [name, from, to, turn, zone.value]);
  const { data, error, again } = useLoad(
    (signal) => loadCounts(tube, asked, signal),
    [tube, asked.from, asked.to, turn, zone.value],
    `timeline ${tube ?? ''}`,
  );
  const view = { span: name, tube, from, to };
  const show = (changed: Readonly<Record<string, string | undefined>>) =>
    go(['timeline'], { ...view, ...changed });

  // The bars that are known, until those of a new span are.
  const span = data?.span ?? asked;
  const stack = stackOf(data?.tubes ?? [], MAX_COLOURED);
  const layers = layersOf(stack);
  const jobsAt = (bar: number) => layers.reduce((sum, { values }) => sum + (values[bar] ?? 0), 0);
  const startOf = (bar: number) => span.edges[bar]!;
  const chosenBar = bar === undefined ? -1 : barAt(span, Date.parse(bar));
  const chosen = chosenBar < 0 ? undefined : chosenBar;
  const chosenList = useRef<HTMLElement>(null);
  // The list of a bar may begin below the window.
  useEffect(() => chosenList.current?.scrollIntoView({ block: 'nearest' }), [bar]);
  const iso = (at: number) => new Date(at).toISOString();
  const spread = (each: string, first: number, last: number, jobs: number) =>
    askOnDemand(({ askSpread }) =>
      askSpread({ tube: each, from: startOf(first), to: startOf(last + 1), jobs }, again),
    );
  const forecast = data?.forecast;
  const { overlay, signs } = overlayOf(span, forecast, layers);
  const total = layers.reduce((sum, { values }) => sum + values.reduce((a, b) => a + b, 0), 0);
  const tell = (bar: number) =>
    t('timeline.bar', {
      from: roundTime(startOf(bar)),
      to: roundTime(startOf(bar + 1)),
      jobs: count(jobsAt(bar)),
    });
  return (
    <>
      <div class="title">
        <h1>{t('nav.timeline')}</h1>
        <Choice
          label={t('timeline.span')}
          value={isZoomed ? undefined : name}
          options={NAMES.map((each) => ({ value: each, name: t(`timeline.${each}`) }))}
          onChange={(each) => show({ span: each, from: undefined, to: undefined })}
        />
        <TubeSelect value={tube} onChange={(each) => show({ tube: each })} all />
        {isZoomed && (
          <button class="button" onClick={() => show({ from: undefined, to: undefined })}>
            {t('timeline.back')}
          </button>
        )}
      </div>
      <Problems tube={tube} />
      {error && <Failure error={error} />}
      {data && data.away.length > 0 && (
        <p class="card warn">{t('tubes.away', { nodes: data.away.join(', ') })}</p>
      )}
      <section class="card" aria-label={t('nav.timeline')}>
        <div class="card-head">
          <h2>{t('timeline.total', { jobs: count(data && total) })}</h2>
          <DueNow tube={tube} />
          <span class="faint">
            {roundTime(span.from)} – {roundTime(span.to)}
          </span>
          {isZoomed && tube !== undefined && total > 1 && (
            <ActButton
              act="rescheduleMany"
              label={t('act.spreadPeak')}
              onClick={() => spread(tube, 0, span.bars - 1, total)}
            />
          )}
        </div>
        <Bars
          label={t('timeline.label')}
          span={span}
          layers={layers}
          overlay={overlay}
          nothing={data && t('timeline.nothing')}
          chosen={chosen}
          tell={tell}
          onChoose={(each) => goOnFrom('timeline', ['timeline'], { ...view, bar: iso(startOf(each)) })}
          onZoom={(first, last) => show({ from: iso(startOf(first)), to: iso(startOf(last + 1)) })}
          onBack={() => show({ from: undefined, to: undefined })}
        />
        {layers.length + signs.length > 0 && <Legend entries={[...layers, ...signs]} />}
        {forecast && <Outlook forecast={forecast} />}
        {tube === undefined && <LateTubes span={asked} query={{ span: name, from, to }} />}
        <p class="faint small">{t('timeline.keys')}</p>
        {(data?.others ?? 0) > 0 && (
          <p class="faint small">{t('timeline.others', { others: data!.others })}</p>
        )}
      </section>
      {chosen !== undefined && (
        <section ref={chosenList} class="card" aria-label={tell(chosen)}>
          <div class="card-head">
            <h2>{tell(chosen)}</h2>
            <button
              class="button"
              onClick={() => show({ from: iso(startOf(chosen)), to: iso(startOf(chosen + 1)) })}
            >
              {t('timeline.zoom')}
            </button>
          </div>
          {jobsAt(chosen) === 0 && <p class="empty">{t('timeline.nothing')}</p>}
          <ul class="links">
            {(data?.tubes ?? [])
              .filter(({ counts }) => (counts[chosen] ?? 0) > 0)
              .map(({ tube: each, counts }) => (
                <li key={each}>
                  <a
                    href={hashOf(['waiting'], {
                      tube: each,
                      from: iso(startOf(chosen)),
                      to: iso(startOf(chosen + 1)),
                    })}
                  >
                    <span>{each}</span>
                    <span class="number">{count(counts[chosen])}</span>
                  </a>
                  {counts[chosen]! > 1 && (
                    <ActButton
                      act="rescheduleMany"
                      label={t('act.spreadPeak')}
                      about={each}
                      onClick={() => spread(each, chosen, chosen, counts[chosen]!)}
                    />
                  )}
                </li>
              ))}
          </ul>
        </section>
      )}
      <TimelineTable span={span} tubes={data?.tubes ?? []} />
    </>
  );
}

/** Jobs whose time has come: no bar has them. Nothing if there are none. */
function DueNow({ tube }: { readonly tube: string | undefined }) {
  const tubes = live.value?.tubes?.tubes ?? [];
  const due = tubes
    .filter((each) => tube === undefined || each.tube === tube)
    .reduce((sum, each) => sum + (dueOf(each) ?? 0), 0);
  if (due === 0) return null;
  return (
    <a href={hashOf(['waiting'], { ...(tube !== undefined && { tube }), state: 'due' })}>
      {t('timeline.dueNow', { jobs: count(due) })}
    </a>
  );
}

/** How much a tube can run, and when its jobs start late. */
function Outlook({ forecast }: { readonly forecast: ForecastWire }) {
  const { capacity, stopped } = forecast;
  if (stopped) return <p class="faint small">{t(`late.${stopped}`)}</p>;
  if (!capacity) return null;
  return (
    <Facts
      facts={[
        [t('capacity'), capacityText(capacity)],
        [t('late'), latenessText(forecast)],
      ]}
    />
  );
}

/** Tubes named one by one. */
const MAX_LATE = 3;
/** Milliseconds between two forecasts for all tubes. */
const FORECAST_MS = 60_000;

/** The tubes whose jobs will start late, and when. Nothing if there are none. */
function LateTubes({
  span,
  query,
}: {
  readonly span: Span;
  readonly query: Readonly<Record<string, string | undefined>>;
}) {
  const turn = Math.floor(now.value / FORECAST_MS);
  const about = JSON.stringify(query);
  const { data } = useLoad(
    (signal) => getData<LateTubesWire>('timeline/late', { edges: edgesText([span.from, span.to]) }, signal),
    [turn, about],
    `late ${about}`,
  );
  const tubes = (data ?? [])
    .map(({ tube, late }) => ({ tube, late: late.filter(({ to }) => Date.parse(to) > span.from) }))
    .filter(({ late }) => late.length > 0);
  if (tubes.length === 0) return null;
  const more = tubes.length - MAX_LATE;
  return (
    <Facts
      facts={[
        [
          t('late'),
          <>
            {tubes.slice(0, MAX_LATE).map(({ tube, late }) => (
              <div key={tube}>
                <a href={hashOf(['timeline'], { ...query, tube })}>{tube}</a> {spansText(late)}
              </div>
            ))}
            {more > 0 && <span class="faint">{t('late.tubes', { more: count(more) })}</span>}
          </>,
        ],
      ]}
    />
  );
}

function edgesText(edges: readonly number[]): string {
  return edges.map((at) => new Date(at).toISOString()).join(',');
}

interface Counts {
  readonly span: Span;
  /** Present if a tube is chosen. */
  readonly forecast?: ForecastWire;
  readonly tubes: readonly TubeCounts[];
  readonly others: number;
  readonly away: readonly string[];
}

async function loadCounts(tube: string | undefined, span: Span, signal: AbortSignal): Promise<Counts> {
  const query = { edges: edgesText(span.edges) };
  const countsOf = (buckets: readonly { readonly jobs: number }[]) => buckets.map(({ jobs }) => jobs);
  if (tube !== undefined) {
    const forecast = await getData<ForecastWire>(`tubes/${inPath(tube)}/forecast`, query, signal);
    return { span, forecast, tubes: [{ tube, counts: countsOf(forecast.buckets) }], others: 0, away: [] };
  }
  const { tubes, ...rest } = await getData<TimelinesWire>('timeline', query, signal);
  return { span, tubes: tubes.map((each) => ({ tube: each.tube, counts: countsOf(each.buckets) })), ...rest };
}

function layersOf({ tubes, rest }: Stack): Layer[] {
  const colourOf = coloursOf(
    tubes.map(({ tube }) => tube),
    (live.value?.tubes?.tubes ?? []).map(({ tube }) => tube),
  );
  const still = stillTubes();
  const layers = tubes.map(({ tube, counts }) => ({
    name: tube,
    colour: `tube tube-${colourOf.get(tube)}`,
    values: counts,
    hatched: still.has(tube),
  }));
  if (!rest) return layers;
  return [...layers, { name: t('timeline.rest'), colour: 'series-other', values: rest }];
}

/** Tubes of which nothing runs: paused, or without a consumer. */
function stillTubes(): ReadonlySet<string> {
  const tubes = live.value?.tubes?.tubes ?? [];
  return new Set(tubes.filter(({ paused, consumers }) => paused || consumers === 0).map(({ tube }) => tube));
}

/** The additions to the bars, and their legend. */
function overlayOf(span: Span, forecast: ForecastWire | undefined, layers: readonly Layer[]) {
  const changes = clockChanges(span, offsetAt);
  const isNow = now.value > span.from && now.value < span.to;
  const shades = (forecast?.late ?? []).map(({ from, to }) => ({
    from: Date.parse(from),
    to: Date.parse(to),
  }));
  const line = forecast?.capacity && capacityLine(span, forecast.capacity.perMinute);
  const overlay: Overlay = {
    shades,
    line: drawnLine({ line }, highestOf(layers, span.bars)),
    marks: [
      ...changes.map(({ at }) => ({ at, kind: 'clock' as const })),
      ...(isNow ? [{ at: now.value, kind: 'now' as const }] : []),
    ],
  };
  const sign = (colour: string, name: string) => ({ colour: `sign-${colour}`, name });
  const signs = [
    ...(shades.length > 0 ? [sign('late', t('sign.late'))] : []),
    ...(layers.some(({ hatched }) => hatched) ? [sign('hatched', t('sign.hatched'))] : []),
    ...(overlay.line ? [sign('capacity', t('capacity'))] : []),
    ...(isNow ? [sign('now', t('sign.now'))] : []),
    ...changes.map(({ forward }) => {
      const by = duration(Math.abs(forward));
      return sign('clock', t(forward > 0 ? 'sign.forward' : 'sign.back', { by }));
    }),
  ];
  return { overlay, signs };
}
