import type { ComponentChildren } from 'preact';
import type { NodesWire } from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { askFirst, doAct } from '../acts/one.js';
import { askRepair } from '../acts/repair-dialog.js';
import { Amount } from '../parts/amount.js';
import { Badge } from '../parts/badge.js';
import { Old } from '../parts/old.js';
import { Table } from '../parts/table.js';
import { live } from '../state/live.js';
import { t } from '../words/language.js';
import { bytes, count, duration, fullTime, time } from '../words/say.js';

type Node = NodesWire[number];

/** The nodes; the next live state shows what an act led to. */
export function Nodes({
  nodes,
  asOf,
}: {
  readonly nodes: NodesWire;
  /** By endpoint: when the figures of a node that is away were read. */
  readonly asOf: Readonly<Record<string, string>> | undefined;
}) {
  const old = (cell: (node: Node) => ComponentChildren) => {
    return (node: Node) => <Old asOf={asOf?.[node.endpoint]}>{cell(node)}</Old>;
  };
  return (
    <section class="card" aria-label={t('nodes')}>
      <div class="card-head">
        <h2>{t('nodes')}</h2>
        <ActButton act="repair" label={t('act.repair')} onClick={askRepair} />
      </div>
      <Table
        label={t('nodes')}
        rows={nodes}
        keyOf={({ endpoint }) => endpoint}
        empty={t('nodes.none')}
        columns={[
          { head: t('node'), place: 'lead', cell: ({ endpoint }) => <span class="long">{endpoint}</span> },
          { head: t('state'), cell: State },
          { head: t('node.ready'), number: true, cell: old(({ copies }) => <Amount of={copies?.ready} />) },
          {
            head: t('node.delayed'),
            number: true,
            cell: old(({ copies }) => <Amount of={copies?.delayed} />),
          },
          {
            head: t('node.reserved'),
            number: true,
            cell: old(({ copies }) => <Amount of={copies?.reserved} />),
          },
          { head: t('node.buried'), number: true, cell: old(({ copies }) => <Amount of={copies?.buried} />) },
          {
            head: t('node.binlog'),
            place: 'named',
            cell: old(({ binlog, binlogSize }) =>
              binlog === undefined
                ? '–'
                : `${t(`binlog.${binlog}`)}${binlogSize ? ` ${bytes(binlogSize)}` : ''}`,
            ),
          },
          { head: t('version'), place: 'named', cell: old(({ version }) => version ?? '–') },
          { head: t('node.uptime'), number: true, cell: old(({ uptime }) => duration(uptime)) },
          { head: t('node.connections'), number: true, cell: old(({ connections }) => count(connections)) },
          { head: t('acts'), quiet: true, cell: Drain },
        ]}
      />
    </section>
  );
}

function State({ endpoint, up, reason, since, drained, draining }: Node) {
  const away = (live.value?.problems.cluster ?? [])
    .flatMap((problem) =>
      problem.code === 'node-down' ? [problem] : 'nodes' in problem ? problem.nodes : [],
    )
    .find(({ node }) => node === endpoint);
  const why = away ? (away.reason ?? t(`away.${away.cause}`)) : reason;
  return (
    <>
      <Badge tone={up ? 'good' : 'bad'}>{t(up ? 'up' : 'down')}</Badge>{' '}
      {drained && <Badge tone="warn">{t('node.drained')}</Badge>}{' '}
      {draining && <Badge tone="warn">{t('node.draining')}</Badge>} {!up && why}{' '}
      {since !== undefined && (
        <span class="faint small" title={fullTime(Date.parse(since))}>
          {t('status.since', { time: time(Date.parse(since)) })}
        </span>
      )}
    </>
  );
}

function Drain({ endpoint: node, drained }: Node) {
  const drain = () =>
    askFirst('drainNode', t('drain.title', { node }), t('drain.text'), t('act.drainNode'), () =>
      doAct('drainNode', { node }, nothing),
    );
  const undrain = () => doAct('undrainNode', { node }, nothing);
  return drained ? (
    <ActButton act="undrainNode" label={t('act.undrainNode')} about={node} onClick={undrain} />
  ) : (
    <ActButton act="drainNode" label={t('act.drainNode')} about={node} onClick={drain} />
  );
}

function nothing(): void {}
