import type { ComponentChildren } from 'preact';
import type { TubeWire } from '../../src/dashboard/wire.js';
import { dueOf } from '../../src/operate/due.js';
import { LimitButtons } from '../acts/limits-dialog.js';
import { TubeButtons } from '../acts/tube-buttons.js';
import type { TubeHistory } from '../figures/history.js';
import { isUnknownTube } from '../figures/unknown-tube.js';
import { Amount } from '../parts/amount.js';
import { Facts } from '../parts/facts.js';
import { Failure } from '../parts/failure.js';
import { Figures, type Figure } from '../parts/figures.js';
import { useHistories } from '../parts/histories.js';
import { useLoad, type Loaded } from '../parts/load.js';
import { HistorySpan, historySpan } from '../parts/history-span.js';
import { onDemand } from '../parts/on-demand.js';
import { AsOf, Old } from '../parts/old.js';
import { Paused } from '../parts/paused.js';
import { Problems } from '../parts/problems.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { UnknownTube } from '../parts/unknown-tube.js';
import { getData, inPath } from '../server/requests.js';
import { refOf } from '../state/job-address.js';
import { knownAt, live, now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { go, route } from '../state/router.js';
import { t } from '../words/language.js';
import { lateText, rateText } from '../words/late.js';
import { limitsText } from '../words/limits.js';
import { count, duration, fromNow, fullTime, time } from '../words/say.js';
import { HistoryCharts } from './history-charts.js';
import { onDemandPages } from './load-on-demand.js';

/** Milliseconds between questions for a tube that the live state does not have. */
const FRESH_MS = 5_000;
/** The same for what an embedded node counts only when it is asked, as it walks through all jobs. */
const COUNTED = 15_000;

/** The tube as the live state tells it. Only what that lacks is asked for. */
function useTube(tube: string): Loaded<TubeWire | undefined> {
  const told = live.value?.tubes?.tubes.find((each) => each.tube === tube);
  const isWhole = told?.listed !== undefined;
  const turn = isWhole ? undefined : Math.floor(now.value / (told ? COUNTED : FRESH_MS));
  const asked = useLoad<TubeWire | undefined>(
    async (signal) => (isWhole ? undefined : getData<TubeWire>(`tubes/${inPath(tube)}`, {}, signal)),
    [tube, turn],
  );
  if (!told) return asked;
  if (isWhole || asked.data?.tube !== tube) return { ...asked, data: told };
  const { listed, overdue, retrying, oldestDue, overdueFor } = asked.data;
  return { ...asked, data: { ...told, listed, overdue, retrying, oldestDue, overdueFor } };
}

/** Pages with the jobs of a tube. */
const LISTS = [
  { path: 'waiting', title: 'nav.waiting' },
  { path: 'finished', title: 'nav.finished' },
  { path: 'dead', title: 'nav.dead' },
  { path: 'timeline', title: 'nav.timeline' },
] as const;
const TubeSeries = onDemand(async () => (await onDemandPages()).TubeSeries);

/** One tube, with its history. */
export function TubePage({ tube }: { readonly tube: string }) {
  const { data, error, again } = useTube(tube);
  const { facts, processes: processesAsOf, tubes: counted } = live.value?.asOf ?? {};
  const counts = counted?.[tube];
  const old = (value: ComponentChildren) => <Old asOf={facts}>{value}</Old>;
  const { data: histories } = useHistories();
  const { name: spanName, length } = historySpan(route.value.query['span']);
  const reportedAt = processesAsOf === undefined ? knownAt.value : Date.parse(processesAsOf);
  const processes = (live.value?.processes ?? []).flatMap(({ id, host, pid, tubes }) =>
    tubes.filter((each) => each.tube === tube).map((each) => ({ id, host, pid, ...each })),
  );
  if (data && facts === undefined && isUnknownTube(data))
    return (
      <>
        <div class="title">
          <h1 class="long">{tube}</h1>
          <Paused paused={data.paused} />
          {data.paused && <TubeButtons tube={data} after={again} />}
        </div>
        <UnknownTube tube={tube} linkTo={(name) => hashOf(['tubes', name])} />
        {error && <Failure error={error} />}
      </>
    );
  return (
    <>
      <div class="title">
        <h1 class="long">{tube}</h1>
        {data && old(<Paused paused={data.paused} />)}
        <span class="apart">
          {LISTS.map(({ path, title }) => (
            <a key={path} href={hashOf([path], { tube })}>
              {t(title)}
            </a>
          ))}
        </span>
        {data && (
          <span class="acts end">
            <TubeButtons tube={data} after={again} />
            <LimitButtons tube={data} after={again} />
          </span>
        )}
      </div>
      {error && <Failure error={error} />}
      <Problems tube={tube} isOwnPage />
      {data && (
        <>
          <section class="card" aria-label={t('tube.numbers')}>
            {(facts ?? counts) !== undefined && <AsOf at={facts ?? counts} />}
            <Figures figures={figuresOf(data, processes, histories?.byTube.get(tube))} />
          </section>
          <section class="card" aria-label={t('tube.runs')}>
            {facts !== undefined && <AsOf at={facts} />}
            <Facts
              inline
              facts={[
                [t('tube.consumers'), old(count(data.consumers))],
                [t('tube.watching'), <Old asOf={counts}>{count(data.watching)}</Old>],
                [t('tube.listed'), old(<Amount of={data.listed} />)],
                [t('tube.limits'), old(limitsText(data.limits))],
                [
                  t('limits.changedUntil'),
                  data.changedLimits &&
                    old(
                      data.changedLimits.until ? (
                        <Time at={data.changedLimits.until} relative />
                      ) : (
                        t('setLimits.reset')
                      ),
                    ),
                ],
                [t('limits.running'), data.limits?.running !== undefined && old(count(data.limits.running))],
                [t('tube.pausedSince'), data.paused && old(<Time at={data.paused.since} relative />)],
                [
                  t('tube.pausedUntil'),
                  data.paused &&
                    old(data.paused.until ? <Time at={data.paused.until} relative /> : t('pause.resumed')),
                ],
              ]}
            />
          </section>
        </>
      )}
      <TubeSeries />
      <section class="rows" aria-label={t('nav.history')}>
        <div class="bar">
          <h2>{t('nav.history')}</h2>
          <HistorySpan value={spanName} onChange={(span) => go(['tubes', tube], { span })} />
        </div>
        <HistoryCharts tube={tube} length={length} />
      </section>
      <section class={processesAsOf === undefined ? 'card' : 'card old'} aria-label={t('nav.processes')}>
        <div class="card-head">
          <h2>{t('nav.processes')}</h2>
          <AsOf at={processesAsOf} />
        </div>
        <Table
          label={t('nav.processes')}
          rows={processes}
          keyOf={({ id }) => id}
          empty={t('tube.notConsumed')}
          columns={[
            { head: t('process'), place: 'lead', cell: ({ host, pid }) => `${host}:${pid}` },
            { head: t('process.concurrency'), number: true, cell: ({ concurrency }) => count(concurrency) },
            { head: t('tube.running'), number: true, cell: ({ running }) => count(running) },
            { head: t('process.held'), number: true, cell: ({ held }) => count(held) },
            {
              head: t('process.longRuns'),
              place: 'named',
              cell: ({ longRuns }) =>
                longRuns.slice(0, 10).map(({ id, key, since }) => (
                  <div key={id}>
                    <a class="mono" href={hashOf(['job'], refOf({ tube, id, key }))}>
                      {key ?? id}
                    </a>{' '}
                    {duration(reportedAt - Date.parse(since))}
                  </div>
                )),
            },
          ]}
        />
      </section>
    </>
  );
}

function Since({ at }: { readonly at: number }) {
  return (
    <span title={fullTime(at)}>
      {t('status.since', { time: time(at) })}, {fromNow(at)}
    </span>
  );
}

/** The figures by which a tube is judged. */
function figuresOf(
  data: TubeWire,
  processes: readonly { readonly concurrency: number }[],
  history: TubeHistory | undefined,
): Figure[] {
  const { tube, waiting, retrying, running, dead, oldestDue } = data;
  const { facts, tubes } = live.value?.asOf ?? {};
  const counts = tubes?.[tube];
  const problem = live.value?.problems.tubes.find((each) => each.tube === tube);
  const slots = processes.reduce((sum, { concurrency }) => sum + concurrency, 0);
  return [
    {
      name: t('tube.waiting'),
      value: waiting,
      href: hashOf(['waiting'], { tube }),
      asOf: counts,
      note: retrying ? (
        <a href={hashOf(['waiting'], { tube, state: 'retrying' })}>
          {t('tube.ofRetrying', { jobs: count(retrying) })}
        </a>
      ) : undefined,
    },
    {
      name: t('tube.due'),
      value: dueOf(data),
      tone: problem?.level === 'failure' ? 'bad' : problem?.level === 'warning' ? 'warn' : undefined,
      href: hashOf(['waiting'], { tube, state: 'due' }),
      asOf: facts ?? counts,
      note: oldestDue && <Since at={Date.parse(oldestDue)} />,
    },
    {
      name: t('tube.running'),
      value: running,
      href: hashOf(['running']),
      asOf: counts,
      note: slots > 0 ? t('tube.slots', { slots: count(slots) }) : undefined,
    },
    { name: t('tube.dead'), value: dead, tone: 'bad', href: hashOf(['dead'], { tube }), asOf: facts },
    { name: t('tubes.rate'), value: history && rateText(history.perMinute) },
    {
      name: t('tubes.p99'),
      value: history && lateText(history.most),
      note: history?.half === undefined ? undefined : `p50 ${lateText(history.half)}`,
    },
  ];
}
