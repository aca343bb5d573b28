import type { LedgerWire, LiveWire } from '../../src/dashboard/wire.js';
import { Badge } from '../parts/badge.js';
import { Facts } from '../parts/facts.js';
import { Failure } from '../parts/failure.js';
import { Table } from '../parts/table.js';
import { live } from '../state/live.js';
import { t } from '../words/language.js';
import { bytes, count, duration } from '../words/say.js';
import { Nodes } from './nodes.js';
import { Processes } from './processes.js';
import { SeriesList } from './series-list.js';

/** Nodes, ledger, processes and series, and whether all is well. */
export function ClusterPage() {
  const state = live.value;
  if (!state) return <p class="faint">{t('loading')}</p>;
  return (
    <>
      <h1>{t('nav.cluster')}</h1>
      {Object.entries(state.errors ?? {}).map(([part, message]) => (
        <Failure key={part} error={new Error(`${part}: ${message}`)} />
      ))}
      {state.health && <Health health={state.health} />}
      {state.nodes && <Nodes nodes={state.nodes} />}
      {state.ledger && <Ledger ledger={state.ledger} />}
      {state.processes && <Processes processes={state.processes} />}
      <SeriesList />
    </>
  );
}

function Health({ health }: { readonly health: NonNullable<LiveWire['health']> }) {
  const { status, unequalSettings = [], lost } = health;
  const down = Object.entries(health.nodes).filter(([, each]) => each !== 'up');
  return (
    <section class="card" aria-label={t('health')}>
      <div class="card-head">
        <h2>{t('health')}</h2>
        <Badge tone={status === 'up' ? 'good' : 'bad'}>{t(`health.${status}`)}</Badge>
      </div>
      {health.redis === 'down' && <p class="bad">{t('health.redisDown')}</p>}
      {down.map(([node, why]) => (
        <p key={node} class="bad">
          {node}: {why}
        </p>
      ))}
      {unequalSettings.map((text) => (
        <p key={text} class="warning">
          {text}
        </p>
      ))}
      {lost && (
        <p class="bad">
          {t('health.lost', { jobs: count(lost.count), tube: lost.latest.tube, id: lost.latest.id })}
        </p>
      )}
      {status === 'up' && down.length === 0 && unequalSettings.length === 0 && !lost && (
        <p class="faint">{t('health.well')}</p>
      )}
    </section>
  );
}

function Ledger({ ledger }: { readonly ledger: LedgerWire }) {
  const { kind, up, reason, clockAhead, servers, problems } = ledger;
  return (
    <section class="card" aria-label={t('ledger')}>
      <div class="card-head">
        <h2>{t('ledger')}</h2>
        <Badge tone={up ? 'good' : 'bad'}>{t(up ? 'up' : 'down')}</Badge>
      </div>
      <Facts
        facts={[
          [t('ledger.kind'), t(`ledger.${kind}`)],
          [t('reason'), reason],
          [t('ledger.clockAhead'), clockAhead !== undefined && duration(clockAhead)],
        ]}
      />
      {problems.map((text) => (
        <p key={text} class="warning">
          {text}
        </p>
      ))}
      {servers.length > 0 && (
        <Table
          label={t('ledger')}
          rows={servers}
          keyOf={({ address }) => address}
          empty=""
          columns={[
            { head: t('ledger.address'), cell: ({ address }) => address },
            {
              head: t('state'),
              cell: (each) => (
                <>
                  <Badge tone={each.up ? 'good' : 'bad'}>{t(each.up ? 'up' : 'down')}</Badge> {each.reason}
                </>
              ),
            },
            { head: t('ledger.roundTrip'), number: true, cell: ({ roundTrip }) => duration(roundTrip) },
            { head: t('version'), cell: ({ version }) => version ?? '–' },
            { head: t('ledger.role'), cell: ({ role }) => role ?? '–' },
            {
              head: t('ledger.memory'),
              number: true,
              cell: ({ memory, memoryLimit }) =>
                memoryLimit === undefined ? bytes(memory) : `${bytes(memory)} / ${bytes(memoryLimit)}`,
            },
            { head: t('ledger.policy'), cell: ({ policy }) => policy ?? '–' },
            {
              head: t('ledger.appendOnly'),
              cell: ({ appendOnly }) => (appendOnly === undefined ? '–' : t(appendOnly ? 'yes' : 'no')),
            },
          ]}
        />
      )}
    </section>
  );
}
