import type { ProcessesWire } from '../../src/dashboard/wire.js';
import { Badge } from '../parts/badge.js';
import { AsOf } from '../parts/old.js';
import { Silent } from '../parts/silent.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { hashOf } from '../state/route.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';

const MAX_TUBES = 20;

/** The processes of the cluster, and what they run. */
export function Processes({
  processes,
  asOf,
}: {
  readonly processes: ProcessesWire;
  readonly asOf: string | undefined;
}) {
  return (
    <section class={asOf === undefined ? 'card' : 'card old'} aria-label={t('nav.processes')}>
      <div class="card-head">
        <h2>{t('nav.processes')}</h2>
        <AsOf at={asOf} />
      </div>
      <Table
        label={t('nav.processes')}
        rows={processes}
        keyOf={({ id }) => id}
        empty={t('processes.none')}
        columns={[
          {
            head: t('process'),
            place: 'lead',
            cell: ({ host, pid, elected, consumes, cluster, toRepair, toldAt }) => (
              <>
                <span class="long">
                  {host}:{pid}
                </span>{' '}
                {cluster} {elected && <Badge tone="accent">{t('process.elected')}</Badge>}{' '}
                {!consumes && <Badge tone="calm">{t('process.produces')}</Badge>}{' '}
                {asOf === undefined && <Silent toldAt={toldAt} />}{' '}
                {toRepair !== undefined && (
                  <Badge tone="warn">{t('process.repairs', { jobs: count(toRepair) })}</Badge>
                )}
              </>
            ),
          },
          {
            head: t('version'),
            place: 'named',
            cell: ({ version, nodeVersion }) => `${version} · Node ${nodeVersion}`,
          },
          { head: t('process.since'), place: 'end', cell: ({ since }) => <Time at={since} /> },
          {
            head: t('process.nodesAway'),
            place: 'named',
            cell: ({ nodes }) => {
              const away = Object.entries(nodes).filter(([, up]) => !up);
              return away.length === 0 ? (
                '–'
              ) : (
                <span class="bad">{away.map(([node]) => node).join(', ')}</span>
              );
            },
          },
          {
            head: t('process.tubes'),
            cell: ({ tubes }) => (
              <span class="apart">
                {tubes.slice(0, MAX_TUBES).map(({ tube, running, concurrency }) => (
                  <span key={tube}>
                    <a href={hashOf(['tubes', tube])}>{tube}</a>{' '}
                    <span class="faint">
                      {count(running)} / {count(concurrency)}
                    </span>
                  </span>
                ))}
                {tubes.length > MAX_TUBES && (
                  <span class="faint">
                    {t('process.moreTubes', { tubes: count(tubes.length - MAX_TUBES) })}
                  </span>
                )}
              </span>
            ),
          },
        ]}
      />
    </section>
  );
}
