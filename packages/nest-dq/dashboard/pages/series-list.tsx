import { useEffect, useState } from 'preact/hooks';
import type { PlannedSeriesPageWire, SeriesRunWire, SeriesWire } from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { askFirst, doAct, runNow } from '../acts/one.js';
import { Badge } from '../parts/badge.js';
import { Failure } from '../parts/failure.js';
import { JobState } from '../parts/job-state.js';
import { useLoad } from '../parts/load.js';
import { More } from '../parts/more.js';
import { usePages } from '../parts/pages.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { useTypedText } from '../parts/typed-text.js';
import { getData } from '../server/requests.js';
import { now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { route } from '../state/router.js';
import { language, t } from '../words/language.js';
import { count, duration, fromNow, fullTime, roundTime } from '../words/say.js';

const FRESH = 10_000;
const MINUTE = 60_000;
/** Series in the first page. */
const FIRST_PAGE = 100;
const TONES = { completed: 'good', retrying: 'warn', dead: 'bad', failed: 'bad' } as const;

type Row = SeriesWire[number];

/** Recurring jobs of all processes: how they ran last, and their next times. */
export function SeriesList() {
  const turn = Math.floor(now.value / FRESH);
  const { data, error, again } = useLoad(
    (signal) => getData<SeriesWire>('series', {}, signal),
    [turn],
    'series',
  );
  return (
    <section class="card" aria-label={t('series')}>
      {error && <Failure error={error} />}
      <SeriesTable
        label={t('series')}
        rows={data ?? []}
        empty={error ? '' : t(data ? 'series.none' : 'loading')}
        again={again}
      />
    </section>
  );
}

/** Those whose jobs are in the tube of the address; nothing if there are none. */
export function TubeSeries() {
  const tube = route.value.path[1];
  const turn = Math.floor(now.value / MINUTE);
  const { data, again } = useLoad((signal) => getData<SeriesWire>('series', {}, signal), [turn], 'series');
  const rows = data?.filter((each) => each.tube === tube) ?? [];
  if (rows.length === 0) return null;
  return (
    <section class="card" aria-label={t('series')}>
      <h2>{t('series')}</h2>
      <SeriesTable label={t('series')} rows={rows} empty="" again={again} />
    </section>
  );
}

/** Those made at run time, by name; nothing if there are none. */
export function PlannedSeriesList() {
  const turn = Math.floor(now.value / FRESH);
  const [prefix, setPrefix] = useState('');
  const [total, setTotal] = useState(0);
  const list = usePages(
    async (cursor, signal) => {
      const query = { cursor, ...(prefix !== '' && { prefix }) };
      const page = await getData<PlannedSeriesPageWire>('series/planned', query, signal);
      setTotal(page.total);
      return { items: page.series, cursor: page.cursor };
    },
    ['series/planned', prefix],
  );
  useEffect(() => {
    if (!list.loading && list.items.length <= FIRST_PAGE) list.again(); // more pages stay as they were read
  }, [turn]);
  if (total === 0) return null;
  return (
    <section class="card" aria-label={t('series.planned')}>
      <div class="card-head">
        <h2>{t('series.planned')}</h2>
        <span class="faint">{t('series.total', { total: count(total) })}</span>
        <PrefixField onChange={setPrefix} />
      </div>
      {list.error && <Failure error={list.error} />}
      <SeriesTable
        label={t('series.planned')}
        rows={list.items}
        empty={list.error ? '' : t(list.loading ? 'loading' : 'series.plannedNone')}
        again={list.again}
      />
      <More list={list} />
    </section>
  );
}

function PrefixField({ onChange }: { readonly onChange: (prefix: string) => void }) {
  const input = useTypedText('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onChange(input.current!.value);
      }}
    >
      <input ref={input} type="search" aria-label={t('series.prefix')} placeholder={t('series.prefix')} />
    </form>
  );
}

function SeriesTable({
  label,
  rows,
  empty,
  again,
}: {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly empty: string;
  readonly again: () => void;
}) {
  const { data: cron } = useLoad(() => import('../figures/cron-words.js'), []);
  const isNamed = rows.some(({ name }) => name !== undefined);
  const inWords = (plan: string) => cron?.cronInWords(plan, language.value);
  return (
    <Table
      label={label}
      rows={rows}
      keyOf={({ tube, key }) => `${tube} ${key}`}
      empty={empty}
      columns={[
        ...(isNamed
          ? [
              {
                head: t('series.name'),
                place: 'lead' as const,
                cell: ({ name }: Row) => <span class="long">{name}</span>,
              },
            ]
          : []),
        {
          head: t('tube'),
          ...(!isNamed && { place: 'lead' as const }),
          cell: ({ tube, key }) => (
            <a class="long" href={hashOf(['job'], { tube, key })}>
              {tube}
            </a>
          ),
        },
        {
          head: t('series.plan'),
          cell: ({ plan, unequal }) => (
            <>
              {inWords(plan) !== undefined && <div>{inWords(plan)}</div>}
              <code class={inWords(plan) === undefined ? undefined : 'faint small'}>{plan}</code>{' '}
              {unequal && <Badge tone="warn">{t('series.unequal')}</Badge>}
            </>
          ),
        },
        {
          head: t('state'),
          place: 'end',
          cell: ({ state }) => (state === 'none' ? '–' : <JobState state={state} />),
        },
        { head: t('series.last'), place: 'named', cell: ({ last }) => (last ? <LastRun run={last} /> : '–') },
        {
          head: t('series.next'),
          place: 'named',
          cell: ({ next, missedSince }) => (
            <>
              {missedSince !== undefined && (
                <div>
                  <Badge tone="warn">{t('series.missed', { time: fromNow(Date.parse(missedSince)) })}</Badge>
                </div>
              )}
              {next ? (
                <Time at={next} relative={missedSince === undefined} />
              ) : (
                missedSince === undefined && '–'
              )}
            </>
          ),
        },
        {
          head: t('series.later'),
          place: 'named',
          cell: ({ later }) =>
            later.length === 0 ? (
              '–'
            ) : (
              <span class="faint apart">
                {later.map((at) => (
                  <span key={at}>{roundTime(Date.parse(at))}</span>
                ))}
              </span>
            ),
        },
        {
          head: t('series.processes'),
          number: true,
          cell: ({ processes }) => (
            <span class={processes === 0 ? 'bad' : undefined}>{count(processes)}</span>
          ),
        },
        {
          head: t('acts'),
          quiet: true,
          cell: (series) => <SeriesActs series={series} again={again} />,
        },
      ]}
    />
  );
}

function SeriesActs({ series, again }: { readonly series: Row; readonly again: () => void }) {
  const { name, tube, key, state, next, later } = series;
  const about = name ?? tube;
  const [following] = later;
  const isWaiting = state === 'waiting' || state === 'retrying';
  return (
    <span class="acts">
      {isWaiting && (
        <ActButton
          act="runNow"
          label={t('series.trigger')}
          about={about}
          onClick={() => runNow({ tube, key }, about, again)}
        />
      )}
      {state === 'waiting' && next && following && (
        <ActButton
          act={name === undefined ? 'reschedule' : 'skipSeries'}
          label={t('series.skip')}
          about={about}
          onClick={() =>
            askFirst(
              name === undefined ? 'reschedule' : 'skipSeries',
              t('series.skipTitle', { tube: about }),
              t('series.skipText', {
                next: fullTime(Date.parse(next)),
                following: fullTime(Date.parse(following)),
              }),
              t('series.skip'),
              () =>
                name === undefined
                  ? doAct('reschedule', { tube, key, at: following }, again)
                  : doAct('skipSeries', { series: name }, again),
            )
          }
        />
      )}
      {name !== undefined && (
        <ActButton
          act="removeSeries"
          label={t('series.remove')}
          about={name}
          onClick={() =>
            askFirst(
              'removeSeries',
              t('series.removeTitle', { name }),
              t('series.removeText'),
              t('series.remove'),
              () => doAct('removeSeries', { series: name }, again),
            )
          }
        />
      )}
    </span>
  );
}

function LastRun({ run }: { readonly run: SeriesRunWire }) {
  const { outcome, endedAt, took, process, attempt, error } = run;
  const facts = [
    took === undefined ? undefined : t('series.took', { duration: duration(took) }),
    attempt > 1 ? t('series.attempt', { attempt: count(attempt) }) : undefined,
    process,
  ];
  return (
    <>
      <Badge tone={TONES[outcome]}>{t(`outcome.${outcome}`)}</Badge> <Time at={endedAt} relative />
      <div class="faint small">{facts.filter((each) => each !== undefined).join(' · ')}</div>
      {error !== undefined && <div class="bad small long">{error}</div>}
    </>
  );
}
