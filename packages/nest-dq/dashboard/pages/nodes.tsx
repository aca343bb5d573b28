import type { NodesWire } from '../../src/dashboard/wire.js';
import { askBulk } from '../acts/bulk-dialog.js';
import { askFirst, doAct } from '../acts/one.js';
import { Badge } from '../parts/badge.js';
import { Table } from '../parts/table.js';
import { may } from '../state/session.js';
import { t } from '../words/language.js';
import { bytes, count, duration } from '../words/say.js';

type Node = NodesWire[number];

/** The nodes; the next live state shows what an act led to. */
export function Nodes({ nodes }: { readonly nodes: NodesWire }) {
  return (
    <section class="card" aria-label={t('nodes')}>
      <div class="card-head">
        <h2>{t('nodes')}</h2>
        {may('repair') && (
          <button class="button" onClick={() => askBulk({ name: 'repair', body: {} }, nothing)}>
            {t('act.repair')}
          </button>
        )}
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
  if (drained) {
    if (!may('undrainNode')) return null;
    return (
      <button
        class="button"
        aria-label={`${t('act.undrainNode')} ${node}`}
        onClick={() => void doAct('undrainNode', { node }, nothing)}
      >
        {t('act.undrainNode')}
      </button>
    );
  }
  if (!may('drainNode')) return null;
  const drain = () =>
    askFirst(
      t('drain.title', { node }),
      t('drain.text'),
      t('act.drainNode'),
      () => void doAct('drainNode', { node }, nothing),
    );
  return (
    <button class="button" aria-label={`${t('act.drainNode')} ${node}`} onClick={drain}>
      {t('act.drainNode')}
    </button>
  );
}

function nothing(): void {}
