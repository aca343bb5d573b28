import type { ComponentChildren } from 'preact';
import type { TubeWire } from '../../src/dashboard/wire.js';
import { LimitButtons } from '../acts/limits-dialog.js';
import { TubeButtons } from '../acts/tube-buttons.js';
import { dueOf } from '../figures/due.js';
import { isUnknownTube } from '../figures/unknown-tube.js';
import { Amount } from '../parts/amount.js';
import { Facts } from '../parts/facts.js';
import { Failure } from '../parts/failure.js';
import { useLoad, type Loaded } from '../parts/load.js';
import { HistorySpan, historySpan } from '../parts/history-span.js';
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
import { limitsText } from '../words/limits.js';
import { count, duration } from '../words/say.js';
import { HistoryCharts } from './history-charts.js';

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

/** A number of jobs, with a link to them if there are any. */
function Linked({
  of,
  to,
  isBad = false,
}: {
  readonly of: number | undefined;
  readonly to: string;
  readonly isBad?: boolean;
}) {
  if (!of) return <Amount of={of} />;
  return (
    <a class={isBad ? 'bad' : undefined} href={to}>
      {count(of)}
    </a>
  );
}

/** One tube, with its history. */
export function TubePage({ tube }: { readonly tube: string }) {
  const { data, error, again } = useTube(tube);
  const { facts, processes: processesAsOf, tubes: counted } = live.value?.asOf ?? {};
  const counts = counted?.[tube];
  const old = (value: ComponentChildren) => <Old asOf={facts}>{value}</Old>;
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
        {data && <TubeButtons tube={data} after={again} />}
        {data && <LimitButtons tube={data} after={again} />}
        <a class="button" href={hashOf(['waiting'], { tube })}>
          {t('nav.waiting')}
        </a>
        <a class="button" href={hashOf(['finished'], { tube })}>
          {t('nav.finished')}
        </a>
        <a class="button" href={hashOf(['dead'], { tube })}>
          {t('nav.dead')}
        </a>
        <a class="button" href={hashOf(['timeline'], { tube })}>
          {t('nav.timeline')}
        </a>
      </div>
      {error && <Failure error={error} />}
      <Problems tube={tube} isOwnPage />
      {data && (
        <div class="columns">
          <section class="card" aria-label={t('tube.numbers')}>
            <div class="card-head">
              <h2>{t('tube.numbers')}</h2>
              <AsOf at={facts ?? counts} />
            </div>
            <Facts
              facts={[
                [
                  t('tube.waiting'),
                  <Old asOf={counts}>
                    <Amount of={data.waiting} />
                  </Old>,
                ],
                [
                  t('tube.retrying'),
                  old(<Linked of={data.retrying} to={hashOf(['waiting'], { tube, state: 'retrying' })} />),
                ],
                [
                  t('tube.due'),
                  old(<Linked of={dueOf(data)} to={hashOf(['waiting'], { tube, state: 'due' })} />),
                ],
                [
                  t('tube.running'),
                  <Old asOf={counts}>
                    <Amount of={data.running} />
                  </Old>,
                ],
                [t('tube.dead'), old(<Linked of={data.dead} to={hashOf(['dead'], { tube })} isBad />)],
                [t('tube.listed'), old(<Amount of={data.listed} />)],
                [t('overdue'), data.overdue !== undefined && old(<Amount of={data.overdue} />)],
                [t('overdue.since'), data.oldestDue && old(<Time at={data.oldestDue} relative />)],
              ]}
            />
          </section>
          <section class="card" aria-label={t('tube.runs')}>
            <div class="card-head">
              <h2>{t('tube.runs')}</h2>
              <AsOf at={facts} />
            </div>
            <Facts
              facts={[
                [t('tube.consumers'), old(count(data.consumers))],
                [t('tube.watching'), <Old asOf={counts}>{count(data.watching)}</Old>],
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
        </div>
      )}
      <section class="rows" aria-label={t('nav.history')}>
        <div class="bar">
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
