import { bytes, column, type Line, span, styled, type Table, table } from 'nest-handlers/cli';
import type { LedgerView, RedisView } from '../ledger/ledger-view.js';
import type { NodeView } from '../operate/node-view.js';
import { clusterCommand } from './cluster.js';
import { plainReason } from './plain-error.js';
import { downLine, LEDGER_STATUS } from './ledger-down.js';
import { nodesDownLine, viewsOfNodes } from './nodes-down.js';
import { outageOf } from './outage.js';

const NONE = '–';
/** Max difference between the clocks, as in `doctor`. */
const MAX_CLOCK_SKEW_MS = 1_000;

export const nodes = clusterCommand({
  name: 'nodes',
  withoutRedis: true,
  summary: 'Show the state of Redis and of each node, and how many copies it holds.',
  flags: {},
  status: '0 all up; 1 a node is down; 2 Redis unusable',
  examples: ['nest-dq nodes', 'nest-dq nodes --json'],
  async run(_args, { runtime, cluster, settings }) {
    const { inspector } = runtime;
    const processes = inspector.processes().catch(() => undefined); // the view of the ledger says why
    const [views, ledger] = await Promise.all([viewsOfNodes(inspector, processes), inspector.ledger()]);
    const outage = await outageOf(ledger, cluster, settings.prefix);
    const now = runtime.now();
    const status = ledger.up ? (views.every(({ up }) => up) ? 0 : 1) : LEDGER_STATUS;
    return {
      json: { nodes: views, ledger: { ...ledger, ...(outage?.since && { since: outage.since }) } },
      text: [
        ...downLine(ledger, outage, now),
        ...nodesDownLine(views, settings.minWritten, now),
        showNodes(views),
        '',
        ...showLedger(ledger),
      ],
      status,
    };
  },
});

/** Formats one row per node. */
export function showNodes(views: readonly NodeView[]): Table {
  const isDown = views.some(({ up }) => !up);
  const rows = views.map(
    ({ endpoint, up, reason, drained, draining, version, uptime, copies, connections, binlog }) => [
      endpoint,
      styled(
        up ? (drained || draining ? 'yellow' : 'green') : 'red',
        [up ? 'up' : 'down', ...(drained ? ['drained'] : []), ...(draining ? ['draining'] : [])].join(', '),
      ),
      version ?? NONE,
      uptime === undefined ? NONE : span(uptime),
      copies?.ready ?? NONE,
      copies?.delayed ?? NONE,
      copies?.reserved ?? NONE,
      copies?.buried ?? NONE,
      connections ?? NONE,
      binlog ?? NONE,
      ...(isDown ? [up ? '' : styled('red', plainReason(reason ?? 'no answer'))] : []),
    ],
  );
  const head = [
    'NODE',
    'STATE',
    column('optional', 'VERSION'),
    column('time', 'UPTIME'),
    'READY',
    'DELAYED',
    'RESERVED',
    'BURIED',
    'CONN',
    'BINLOG',
    ...(isDown ? [column('reason', 'REASON')] : []),
  ];
  return table(head, rows);
}

function clockText(ahead: number): string {
  return `the clock of this machine is ${span(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} Redis`;
}

function memoryText(used: number, limit: number | undefined): string {
  return limit === undefined ? bytes(used) : `${bytes(used)} of ${bytes(limit)}`;
}

function showLedger({ servers, problems, clockAhead }: LedgerView): Line[] {
  const isDown = servers.some((server) => !server.up);
  const rows = servers.map((server: RedisView) => [
    server.address,
    server.up ? styled('green', 'up') : styled('red', 'down'),
    server.version ?? NONE,
    server.role ?? NONE,
    server.memory === undefined ? NONE : memoryText(server.memory, server.memoryLimit),
    server.policy ?? NONE,
    server.appendOnly === undefined ? NONE : server.appendOnly ? 'yes' : 'no',
    server.roundTrip === undefined ? NONE : `${Math.ceil(server.roundTrip)}ms`,
    ...(isDown ? [server.up ? '' : styled('red', server.reason ?? 'no answer')] : []),
  ]);
  const head = [
    'REDIS',
    'STATE',
    column('optional', 'VERSION'),
    'ROLE',
    'MEMORY',
    'POLICY',
    'AOF',
    'ROUND TRIP',
    ...(isDown ? [column('reason', 'REASON')] : []),
  ];
  return [
    table(head, rows),
    ...(clockAhead !== undefined && Math.abs(clockAhead) > MAX_CLOCK_SKEW_MS ? [clockText(clockAhead)] : []),
    ...problems,
  ];
}
