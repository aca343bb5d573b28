import type { LiveWire, TubeWire } from '../../src/dashboard/wire.js';
import { dueOf } from '../../src/operate/due.js';
import { TubeButtons } from '../acts/tube-buttons.js';
import { LatenessChart } from '../charts/lateness-chart.js';
import type { TubeHistory } from '../figures/history.js';
import { Amount } from '../parts/amount.js';
import { Failure } from '../parts/failure.js';
import { useHistories, type Histories } from '../parts/histories.js';
import { Old } from '../parts/old.js';
import { Paused } from '../parts/paused.js';
import { Problems } from '../parts/problems.js';
import { quietly } from '../parts/quietly.js';
import { type Column, Table } from '../parts/table.js';
import { live } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { route } from '../state/router.js';
import { t } from '../words/language.js';
import { lateText, rateText } from '../words/late.js';
import { limitsText } from '../words/limits.js';
import { count, fullTime, time } from '../words/say.js';
import { TubePage } from './tube-page.js';

/** One tube if the address names it, else all. */
export function TubesPage() {
  const tube = route.value.path[1];
  return tube === undefined ? <AllTubes /> : <TubePage key={tube} tube={tube} />;
}

function AllTubes() {
  const list = live.value?.tubes;
  const tubes = list?.tubes ?? [];
  const { data: histories, error } = useHistories();
  const { facts, tubes: counts = {} } = live.value?.asOf ?? {};
  const counted = Object.values(counts).toSorted()[0];
  const inHistory = (cell: (told: TubeHistory) => string) => {
    return ({ tube }: TubeWire) => {
      const told = histories?.byTube.get(tube);
      return told ? cell(told) : '–';
    };
  };
  return (
    <>
      <h1>{t('nav.tubes')}</h1>
      {facts !== undefined && (
        <p class="note" title={fullTime(Date.parse(facts))}>
          {t('stale.facts', { time: time(Date.parse(facts)) })}
        </p>
      )}
      {counted !== undefined && (
        <p class="note" title={fullTime(Date.parse(counted))}>
          {t('stale.counts', { time: time(Date.parse(counted)) })}
        </p>
      )}
      {list && list.away.length > 0 && (
        <p class="card warn">{t('tubes.away', { nodes: list.away.join(', ') })}</p>
      )}
      <Problems tube={undefined} />
      <Table
        label={t('nav.tubes')}
        rows={tubes}
        keyOf={({ tube }) => tube}
        empty={emptyText(list)}
        columns={dimmed(facts, counts, [
          { head: t('tube'), place: 'lead', cell: Name },
          { head: t('tube.waiting'), number: true, cell: ({ waiting }) => <Amount of={waiting} /> },
          { head: t('tube.retrying'), number: true, cell: ({ retrying }) => <Amount of={retrying} /> },
          { head: t('tube.due'), number: true, cell: (each) => <Amount of={dueOf(each)} /> },
          { head: t('tube.running'), number: true, cell: ({ running }) => <Amount of={running} /> },
          { head: t('tube.dead'), number: true, cell: Dead },
          { head: t('tubes.rate'), number: true, cell: inHistory(({ perMinute }) => rateText(perMinute)) },
          { head: t('tubes.p50'), number: true, cell: inHistory(({ half }) => lateText(half)) },
          { head: t('tubes.p99'), number: true, cell: inHistory(({ most }) => lateText(most)) },
          {
            head: t('tubes.late'),
            extra: true,
            cell: ({ tube }) => histories && <Spark {...histories} tube={tube} />,
          },
          { head: t('tube.consumers'), number: true, cell: Consumers },
          { head: t('tube.limits'), place: 'named', cell: ({ limits }) => limitsText(limits) },
          { head: t('acts'), quiet: true, cell: (tube) => <TubeButtons tube={tube} /> },
        ])}
      />
      {error && <Failure error={error} />}
      {list?.more && <p class="faint">{t('tubes.more')}</p>}
      <p class="faint small">{t('tubes.about')}</p>
    </>
  );
}

/** No tubes isn't nothing to run while nodes that may have some don't answer. */
function emptyText(list: LiveWire['tubes'] | undefined): string {
  if (list === undefined) return t('loading');
  return list === null || list.away.length > 0 ? t('tubes.unknown') : t('tubes.none');
}

/** The columns, with what the ledger or the nodes know dimmed while they tell nothing. */
function dimmed(
  asOf: string | undefined,
  counts: Readonly<Record<string, string>>,
  columns: readonly Column<TubeWire>[],
): readonly Column<TubeWire>[] {
  const ofLedger: unknown[] = [
    t('tube.retrying'),
    t('tube.due'),
    t('tube.running'),
    t('tube.dead'),
    t('tube.consumers'),
    t('tube.limits'),
  ];
  const ofNodes: unknown[] = [t('tube.waiting'), t('tube.due'), t('tube.running')];
  return columns.map((column) => {
    const { head, cell } = column;
    const ageOf = ({ tube }: TubeWire) =>
      (ofNodes.includes(head) ? counts[tube] : undefined) ?? (ofLedger.includes(head) ? asOf : undefined);
    return { ...column, cell: (row) => <Old asOf={ageOf(row)}>{quietly(cell(row))}</Old> };
  });
}

function Name({ tube, paused }: TubeWire) {
  return (
    <>
      <a class="long" href={hashOf(['tubes', tube])}>
        {tube}
      </a>{' '}
      <Old asOf={live.value?.asOf.facts}>
        <Paused paused={paused} />
      </Old>
    </>
  );
}

function Dead({ tube, dead }: TubeWire) {
  if (!dead) return <Amount of={dead} />;
  return (
    <a class="bad" href={hashOf(['dead'], { tube })}>
      {count(dead)}
    </a>
  );
}

/** A tube that has jobs and no consumer is a problem; one without jobs is at rest. */
function Consumers({ consumers, waiting = 0, due = 0, retrying = 0 }: TubeWire) {
  const isMissed = consumers === 0 && waiting + due + retrying > 0;
  return isMissed ? <span class="bad">{count(consumers)}</span> : <Amount of={consumers} />;
}

function Spark({ span, byTube, tube }: Histories & { readonly tube: string }) {
  const told = byTube.get(tube);
  if (!told || told.p99.every((value) => value === undefined)) return null;
  const lines = [
    { name: t('tube.p99'), colour: 'series-2', values: told.p99 },
    { name: t('tube.p50'), colour: 'series-0', values: told.p50 },
  ];
  return <LatenessChart label={t('history.lateness')} span={span} lines={lines} small />;
}
