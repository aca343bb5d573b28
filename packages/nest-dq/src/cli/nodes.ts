import { bytes, span, table } from 'nest-handlers/cli';
import type { LedgerView, RedisView } from '../ledger/ledger-view.js';
import type { NodeView } from '../operate/node-view.js';
import { clusterCommand } from './cluster.js';

const NONE = '–';
/** Max difference between the clocks, as in `doctor`. */
const MAX_CLOCK_SKEW_MS = 1_000;

export const nodes = clusterCommand({
  name: 'nodes',
  summary: 'Show the state of Redis and of each node, and how many copies it holds.',
  flags: {},
  status: '0 all up; 1 not all up',
  examples: ['nest-dq nodes', 'nest-dq nodes --json'],
  async run(_args, { runtime }) {
    const [views, ledger] = await Promise.all([runtime.inspector.nodes(), runtime.inspector.ledger()]);
    const isWell = ledger.up && views.every(({ up }) => up);
    const text = `${showNodes(views)}\n\n${showLedger(ledger)}`;
    return { json: { nodes: views, ledger }, text, status: isWell ? 0 : 1 };
  },
});

function showNodes(views: readonly NodeView[]): string {
  const rows = views.map(
    ({ endpoint, up, reason, drained, draining, version, uptime, copies, connections, binlog }) => [
      endpoint,
      [
        up ? 'up' : `down: ${reason}`,
        ...(drained ? ['drained'] : []),
        ...(draining ? ['draining'] : []),
      ].join(', '),
      version ?? NONE,
      uptime === undefined ? NONE : span(uptime),
      copies?.ready ?? NONE,
      copies?.delayed ?? NONE,
      copies?.reserved ?? NONE,
      copies?.buried ?? NONE,
      connections ?? NONE,
      binlog ?? NONE,
    ],
  );
  const head = ['NODE', 'STATE', 'VERSION', 'UPTIME', 'DUE', 'DELAYED', 'TAKEN', 'BURIED', 'CONN', 'BINLOG'];
  return table(head, rows);
}

function clockText(ahead: number): string {
  return `the clock of this machine is ${span(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} Redis`;
}

function memoryText(used: number, limit: number | undefined): string {
  return limit === undefined ? bytes(used) : `${bytes(used)} of ${bytes(limit)}`;
}

function showLedger({ servers, up, reason, problems, clockAhead }: LedgerView): string {
  const rows = servers.map((server: RedisView) => [
    server.address,
    server.up ? 'up' : `down: ${server.reason ?? ''}`,
    server.version ?? NONE,
    server.role ?? NONE,
    server.memory === undefined ? NONE : memoryText(server.memory, server.memoryLimit),
    server.policy ?? NONE,
    server.appendOnly === undefined ? NONE : server.appendOnly ? 'yes' : 'no',
    server.roundTrip === undefined ? NONE : `${Math.ceil(server.roundTrip)} ms`,
  ]);
  const lines = table(['REDIS', 'STATE', 'VERSION', 'ROLE', 'MEMORY', 'POLICY', 'AOF', 'ROUND TRIP'], rows);
  return [
    lines,
    ...(up ? [] : [`the ledger is down: ${reason ?? 'unknown reason'}`]),
    ...(clockAhead !== undefined && Math.abs(clockAhead) > MAX_CLOCK_SKEW_MS ? [clockText(clockAhead)] : []),
    ...problems,
  ].join('\n');
}
