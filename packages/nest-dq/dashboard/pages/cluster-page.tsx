import type { LedgerWire, LiveWire } from '../../src/dashboard/wire.js';
import { Badge } from '../parts/badge.js';
import { Facts } from '../parts/facts.js';
import { AsOf, Old } from '../parts/old.js';
import { Table } from '../parts/table.js';
import { live } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { wordsOf } from '../status/entry-words.js';
import { entries, Line } from '../status/status-bar.js';
import { t } from '../words/language.js';
import { bytes, duration } from '../words/say.js';
import { Nodes } from './nodes.js';
import { Processes } from './processes.js';

/** Nodes, ledger and processes, and whether all is well. */
export function ClusterPage() {
  const state = live.value;
  if (!state) return <p class="faint">{t('loading')}</p>;
  const { asOf } = state;
  return (
    <>
      <div class="title">
        <h1>{t('nav.cluster')}</h1>
        <a href={hashOf(['series'])}>{t('series')}</a>
      </div>
      {state.health && <Health health={state.health} />}
      {state.nodes && <Nodes nodes={state.nodes} asOf={asOf.nodes} />}
      {state.ledger && <Ledger ledger={state.ledger} asOf={asOf.ledger} />}
      {state.processes && <Processes processes={state.processes} asOf={asOf.processes} />}
    </>
  );
}

/** The same problems as in the status bar, all of them. */
function Health({ health: { status } }: { readonly health: NonNullable<LiveWire['health']> }) {
  const problems = entries.value.filter(({ level, kind }) => level !== 'note' && kind !== 'connection');
  const isDegraded = status === 'up' && problems.length > 0;
  return (
    <section class="card" aria-label={t('health')}>
      <div class="card-head">
        <h2>{t('health')}</h2>
        <Badge tone={status === 'down' ? 'bad' : isDegraded ? 'warn' : 'good'}>
          {t(isDegraded ? 'health.degraded' : `health.${status}`)}
        </Badge>
      </div>
      {problems.map((entry, i) => (
        <div key={i} class="reason" data-level={entry.level}>
          <Line entry={entry} />
        </div>
      ))}
      {problems.length === 0 && <p class="faint">{t('health.well')}</p>}
    </section>
  );
}

function Ledger({ ledger, asOf }: { readonly ledger: LedgerWire; readonly asOf: string | undefined }) {
  const { kind, up, clockAhead, servers, problems } = ledger;
  const old = (cell: (server: LedgerWire['servers'][number]) => string) => {
    return (server: LedgerWire['servers'][number]) => (
      <Old asOf={server.up ? undefined : asOf}>{cell(server)}</Old>
    );
  };
  const down = live.value?.problems.cluster.find(({ code }) => code === 'ledger-down');
  return (
    <section class="card" aria-label={t('ledger')}>
      <div class="card-head">
        <h2>{t('ledger')}</h2>
        <span>
          <AsOf at={asOf} /> <Badge tone={up ? 'good' : 'bad'}>{t(up ? 'up' : 'down')}</Badge>
        </span>
      </div>
      <Facts
        facts={[
          [t('ledger.kind'), t(`ledger.${kind}`)],
          [t('reason'), !up && down && wordsOf({ kind: 'cluster', level: 'failure', problem: down }).detail],
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
            { head: t('ledger.address'), place: 'lead', cell: ({ address }) => address },
            {
              head: t('state'),
              place: 'end',
              cell: (each) => (
                <>
                  <Badge tone={each.up ? 'good' : 'bad'}>{t(each.up ? 'up' : 'down')}</Badge>{' '}
                  {(each.up || servers.length > 1) && each.reason}
                </>
              ),
            },
            { head: t('ledger.roundTrip'), number: true, cell: ({ roundTrip }) => duration(roundTrip) },
            { head: t('version'), place: 'named', cell: old(({ version }) => version ?? '–') },
            { head: t('ledger.role'), place: 'named', cell: old(({ role }) => role ?? '–') },
            {
              head: t('ledger.memory'),
              place: 'named',
              number: true,
              cell: old(({ memory, memoryLimit }) =>
                memoryLimit === undefined ? bytes(memory) : `${bytes(memory)} / ${bytes(memoryLimit)}`,
              ),
            },
            { head: t('ledger.policy'), place: 'named', cell: old(({ policy }) => policy ?? '–') },
            {
              head: t('ledger.appendOnly'),
              place: 'named',
              cell: old(({ appendOnly }) => (appendOnly === undefined ? '–' : t(appendOnly ? 'yes' : 'no'))),
            },
          ]}
        />
      )}
    </section>
  );
}
