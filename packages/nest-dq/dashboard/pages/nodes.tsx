import type { NodesWire } from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { askFirst, doAct } from '../acts/one.js';
import { askRepair } from '../acts/repair-dialog.js';
import { Badge } from '../parts/badge.js';
import { Table } from '../parts/table.js';
import { t } from '../words/language.js';
import { bytes, count, duration } from '../words/say.js';

type Node = NodesWire[number];

/** The nodes; the next live state shows what an act led to. */
export function Nodes({ nodes }: { readonly nodes: NodesWire }) {
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
          { head: t('node'), cell: ({ endpoint }) => <span class="long">{endpoint}</span> },
          { head: t('state'), cell: State },
          { head: t('node.ready'), number: true, cell: ({ copies }) => count(copies?.ready) },
          { head: t('node.delayed'), number: true, cell: ({ copies }) => count(copies?.delayed) },
          { head: t('node.reserved'), number: true, cell: ({ copies }) => count(copies?.reserved) },
          { head: t('node.buried'), number: true, cell: ({ copies }) => count(copies?.buried) },
          {
            head: t('node.binlog'),
            cell: ({ binlog, binlogSize }) =>
              binlog === undefined
                ? '–'
                : `${t(`binlog.${binlog}`)}${binlogSize ? ` ${bytes(binlogSize)}` : ''}`,
          },
          { head: t('version'), cell: ({ version }) => version ?? '–' },
          { head: t('node.uptime'), number: true, cell: ({ uptime }) => duration(uptime) },
          { head: t('node.connections'), number: true, cell: ({ connections }) => count(connections) },
          { head: t('acts'), quiet: true, cell: Drain },
        ]}
      />
    </section>
  );
}

function State({ up, reason, drained, draining }: Node) {
  return (
    <>
      <Badge tone={up ? 'good' : 'bad'}>{t(up ? 'up' : 'down')}</Badge>{' '}
      {drained && <Badge tone="warn">{t('node.drained')}</Badge>}{' '}
      {draining && <Badge tone="warn">{t('node.draining')}</Badge>} {reason}
    </>
  );
}

function Drain({ endpoint: node, drained }: Node) {
  const drain = () =>
    askFirst(
      t('drain.title', { node }),
      t('drain.text'),
      t('act.drainNode'),
      () => void doAct('drainNode', { node }, nothing),
    );
  const undrain = () => void doAct('undrainNode', { node }, nothing);
  return drained ? (
    <ActButton act="undrainNode" label={t('act.undrainNode')} about={node} onClick={undrain} />
  ) : (
    <ActButton act="drainNode" label={t('act.drainNode')} about={node} onClick={drain} />
  );
}

function nothing(): void {}
