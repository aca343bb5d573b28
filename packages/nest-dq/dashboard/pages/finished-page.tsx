import type { FinishedJobWire, FinishedPageWire } from '../../src/dashboard/wire.js';
import { Failure } from '../parts/failure.js';
import { Refresh, useLiveList } from '../parts/live-list.js';
import { More } from '../parts/more.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { TimeFields } from '../parts/time-fields.js';
import { TubeSelect } from '../parts/tube-select.js';
import { UnseenTube } from '../parts/unknown-tube.js';
import { getData, inPath } from '../server/requests.js';
import { useFirstTube } from '../state/first-tube.js';
import { refOf } from '../state/job-address.js';
import { live } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { go, route } from '../state/router.js';
import { t } from '../words/language.js';
import { count, duration } from '../words/say.js';

const NEWEST_FIRST = {
  /** A key that is used again has one row for each end that was read. */
  idOf: ({ id, endedAt }: FinishedJobWire) => `${id} ${endedAt}`,
  orderOf: ({ endedAt }: FinishedJobWire) => -Date.parse(endedAt),
};

/** The jobs of a tube that are done and kept, the last end first. */
export function FinishedPage() {
  const tube = useFirstTube('finished', ({ consumers }) => consumers);
  const { from, to } = route.value.query;
  const show = (changed: Readonly<Record<string, string | undefined>>) =>
    go(['finished'], { tube, from, to, ...changed });
  return (
    <>
      <div class="title">
        <h1>{t('nav.finished')}</h1>
        <TubeSelect value={tube} onChange={(each) => show({ tube: each })} />
        <TimeFields direction="last" from={from} to={to} onChange={show} />
      </div>
      {tube === undefined ? (
        <p class="empty">{t(live.value ? 'tubes.none' : 'loading')}</p>
      ) : (
        <Jobs key={JSON.stringify([tube, from, to])} tube={tube} shown={{ from, to }} />
      )}
    </>
  );
}

function Jobs({
  tube,
  shown,
}: {
  readonly tube: string;
  readonly shown: { readonly from?: string | undefined; readonly to?: string | undefined };
}) {
  const list = useLiveList<FinishedJobWire>(
    async ({ cursor, limit }, signal) => {
      const path = `tubes/${inPath(tube)}/finished`;
      const { jobs, ...rest } = await getData<FinishedPageWire>(path, { ...shown, cursor, limit }, signal);
      return { items: jobs, cursor: rest.cursor };
    },
    [],
    NEWEST_FIRST,
  );
  return (
    <>
      {list.error && <Failure error={list.error} />}
      {list.items.length === 0 && <UnseenTube tube={tube} page="finished" />}
      <div class="bar">
        <Refresh list={list} />
      </div>
      <Table
        label={t('nav.finished')}
        rows={list.items}
        keyOf={NEWEST_FIRST.idOf}
        classOf={(job) => (list.isGone(job) ? 'gone' : undefined)}
        empty={list.error ? '' : t(list.loading ? 'loading' : 'finished.none')}
        columns={[
          { head: t('finished.ended'), place: 'end', cell: ({ endedAt }) => <Time at={endedAt} relative /> },
          {
            head: t('job.keyOrId'),
            place: 'lead',
            cell: ({ id, key }) => (
              <a class="mono long" href={hashOf(['job'], refOf({ tube, id, key }))}>
                {key ?? id}
              </a>
            ),
          },
          { head: t('finished.took'), number: true, cell: ({ took }) => duration(took) },
          { head: t('job.attempt'), number: true, cell: ({ attempt }) => count(attempt) },
          { head: t('process'), cell: ({ process }) => <span class="long">{process}</span> },
        ]}
      />
      <More list={list} />
      <p class="faint small">{t('finished.about')}</p>
    </>
  );
}
