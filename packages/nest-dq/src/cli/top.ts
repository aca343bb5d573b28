import {
  column,
  counted,
  instantCell,
  type Line,
  linesOf,
  PLAIN,
  span,
  styled,
  type Table,
  table,
} from 'nest-handlers/cli';
import type { LedgerView } from '../ledger/ledger-view.js';
import { dueOf } from '../operate/due.js';
import type { NodeView } from '../operate/node-view.js';
import type { ProcessView } from '../operate/processes.js';
import type { TubeList, TubeView } from '../operate/tube-view.js';
import type { JobPage } from '../operate/waiting-view.js';
import type { DqRuntime } from '../nest/runtime.js';
import { clusterCommand, type Connected } from './cluster.js';
import { plainReason } from './plain-error.js';
import { downLine } from './ledger-down.js';
import { nodesDownLine, viewsOfNodes } from './nodes-down.js';
import { type Outage, outageOf } from './outage.js';
import { type Key, Screen } from './screen.js';
import { tubesTable } from './stats.js';
import { tubeFacts } from './tube-facts.js';

/** Refresh intervals: the default, and the shortest. */
const INTERVAL_MS = 2_000;
const SHORTEST_MS = 500;
const LONGEST_MS = 3_600_000;
/** Max number of nodes shown; the rest are only counted. */
const MAX_NODES = 6;
const UNKNOWN = '?';
/** Number of jobs and of dead letters shown of a tube. */
const MAX_SHOWN = 5;

/** Orders of the tubes, by the key that chooses them. All but names have the largest first. */
const ORDERS = {
  urgent: {
    key: 'u',
    of: ({ running = 0, waiting = 0, ...view }: TubeView) =>
      (dueOf(view) ?? 0) * 1e12 + running * 1e6 + waiting,
  },
  late: { key: 'l', of: ({ overdueFor = 0 }: TubeView) => overdueFor },
  waiting: { key: 'w', of: ({ waiting = 0 }: TubeView) => waiting },
  running: { key: 'r', of: ({ running = 0 }: TubeView) => running },
  dead: { key: 'd', of: ({ dead = 0 }: TubeView) => dead },
  name: { key: 'n', of: () => 0 },
} as const;
type Order = keyof typeof ORDERS;
const ORDER_NAMES = Object.keys(ORDERS) as Order[];

/** The content of a frame. */
export interface TopView {
  readonly nodes: readonly NodeView[];
  readonly ledger: LedgerView;
  /** The outage of Redis, if it can't be used, as the nodes show it. */
  readonly outage?: Outage | undefined;
  /** Copies that a job needs. */
  readonly minWritten: number;
  readonly tubes: TubeList;
  /** Absent if Redis doesn't answer. */
  readonly processes?: readonly ProcessView[] | undefined;
}

/** The user's choice of rows and order. */
export interface TopChoice {
  order: Order;
  /** The marked tube. */
  tube?: string | undefined;
  /** Whether it is shown alone. */
  isOpen?: boolean;
  readonly context?: string | undefined;
}

export const top = clusterCommand({
  name: 'top',
  withoutRedis: true,
  summary: 'Show nodes, Redis and tubes on a live screen. Press q to quit.',
  about:
    'Tubes with the most due jobs come first, or press u (urgent), l (late), w (waiting), r (running), d (dead), n (name).\n' +
    'Mark a tube by the arrow keys or j and k; Enter shows it alone, Esc goes back. Without a terminal, requires --count.',
  flags: {
    sort: {
      value: 'ORDER',
      values: ORDER_NAMES,
      help: `order of the tubes: ${ORDER_NAMES.join(', ')} (default urgent)`,
    },
    interval: { value: 'TIME', help: 'refresh interval (default 2s, at least 500ms)' },
    count: { value: 'N', help: 'number of screens to show before exiting' },
  },
  json: false,
  status: '0 quit, or --count reached; 1 could not continue',
  examples: ['nest-dq top --interval 1s --count 2', 'nest-dq top --sort late --count 1'],
  async run(args, connected) {
    const { runtime, context } = connected;
    const interval = args.duration('interval') ?? INTERVAL_MS;
    if (interval < SHORTEST_MS || interval > LONGEST_MS)
      throw args.wrong(`--interval is ${span(interval)}: expected 500ms to 1h.`);
    const count = args.count('count', 1, 1_000_000_000) ?? Infinity;
    if (count === Infinity && !process.stdout.isTTY)
      throw args.wrong('no terminal: expected --count, or `nest-dq stats` instead.');
    const choice: TopChoice = { order: args.oneOf('sort', ORDER_NAMES) ?? 'urgent', context };
    let view: TopView | undefined;
    const screen = new Screen(runtime.clock, (key) => choose(choice, key, view?.tubes.tubes ?? []));
    try {
      for (let shown = 1; ; shown++) {
        view = await lookAround(connected);
        if (screen.left) return;
        const now = new Date(runtime.now());
        const shownView = view;
        screen.show(
          choice.isOpen && choice.tube !== undefined
            ? await tubeFrame(runtime, choice.tube, causesIn(shownView, now.getTime()))
            : (width) => frameOf(shownView, screen.rows, now, choice, width),
        );
        if (shown >= count) return;
        await screen.rest(interval);
        if (screen.left) return;
      }
    } finally {
      screen.close();
    }
  },
});

async function lookAround({ runtime, cluster, settings }: Connected): Promise<TopView> {
  const { inspector } = runtime;
  const told = inspector.processes().catch(() => undefined); // the view of the ledger says why
  const [nodes, ledger, tubes, processes] = await Promise.all([
    viewsOfNodes(inspector, told),
    inspector.ledger(),
    inspector.tubes(),
    told,
  ]);
  const outage = await outageOf(ledger, cluster, settings.prefix);
  return { nodes, ledger, outage, minWritten: settings.minWritten, tubes, processes };
}

/** Changes what the user sees by a key. */
export function choose(choice: TopChoice, key: Key, tubes: readonly TubeView[]): void {
  const order = ORDER_NAMES.find((name) => ORDERS[name].key === key);
  if (order) choice.order = order;
  if (key === 'back') {
    if (!choice.isOpen) choice.tube = undefined;
    choice.isOpen = false;
  }
  if (key === 'enter') choice.isOpen = choice.tube !== undefined;
  const step = key === 'down' || key === 'j' ? 1 : key === 'up' || key === 'k' ? -1 : 0;
  if (step === 0 || tubes.length === 0) return;
  const sorted = inOrder(tubes, choice.order);
  const at = sorted.findIndex(({ tube }) => tube === choice.tube);
  const next =
    at < 0 ? (step > 0 ? 0 : sorted.length - 1) : Math.min(Math.max(at + step, 0), sorted.length - 1);
  choice.tube = sorted[next]!.tube;
}

function inOrder(tubes: readonly TubeView[], order: Order): TubeView[] {
  const { of } = ORDERS[order];
  return tubes.toSorted((a, b) => of(b) - of(a) || (a.tube < b.tube ? -1 : 1));
}

/** The servers that are down: the cause of whatever else is wrong. */
function causesIn(
  { nodes, ledger, outage, minWritten }: Pick<TopView, 'nodes' | 'ledger' | 'outage' | 'minWritten'>,
  now: number,
): Line[] {
  return [...downLine(ledger, outage, now), ...nodesDownLine(nodes, minWritten, now)];
}

/** Returns the lines of a screen with `rows` rows of `width` columns. */
export function frameOf(
  { nodes, ledger, outage, minWritten, tubes, processes }: TopView,
  rows: number,
  now: Date,
  { order, tube: marked, context }: TopChoice = { order: 'urgent' },
  width = Infinity,
): Line[] {
  const heightOf = (lines: readonly Line[]) => linesOf(lines, { ...PLAIN, width }).length;
  const up = nodes.filter((node) => node.up).length;
  const redis = ledger.servers.find(({ roundTrip }) => roundTrip !== undefined)?.roundTrip;
  const time = redis === undefined ? '' : ` in ${Math.ceil(redis)}ms`;
  const nodesText = `${up} of ${counted(nodes.length, 'node')} up`;
  // All processes that looked have found the same jobs.
  const lost = Math.max(0, ...(processes ?? []).map((each) => each.lost ?? 0));
  const head: Line[] = [
    [
      context === undefined ? '' : styled('bold', `${context}  `),
      `${now.toISOString().slice(11, 19)}Z  `,
      up < nodes.length ? styled('red', nodesText) : nodesText,
      ledger.up ? `  Redis answers${time}` : '',
      processes ? '  ' : '',
      processes?.length === 0 ? styled('red', 'no process') : '',
      processes?.length ? counted(processes.length, 'process', 'processes') : '',
      order === 'urgent' ? '' : `  by ${order}`,
      '  (q quits)',
    ],
    ...causesIn({ nodes, ledger, outage, minWritten }, now.getTime()),
    ...(lost > 0 ? [styled('red', `at least ${counted(lost, 'job')} lost: see \`nest-dq doctor\``)] : []),
    '',
  ];
  const shownNodes = Math.min(nodes.length, MAX_NODES);
  const left = nodes.length - shownNodes;
  const middle: Line[] = [
    nodesTable(nodes.slice(0, shownNodes)),
    ...(left > 0 ? [`… and ${counted(left, 'node')} more`] : []),
    '',
  ];
  const sorted = inOrder(tubes.tubes, order);
  // The lines of the table that aren't tubes, and one for the count of those left out.
  const more = heightOf([tubesTable(sorted, marked)]) - sorted.length + 1;
  const room = Math.max(1, rows - head.length - heightOf(middle) - more);
  const at = sorted.findIndex(({ tube }) => tube === marked);
  const first = Math.max(0, Math.min(at - room + 1, sorted.length - room));
  const others = sorted.length - room;
  return [
    ...head,
    ...middle,
    tubesTable(sorted.slice(first, first + room), marked),
    ...(others > 0 || tubes.more ? [`… and ${tubes.more ? 'more' : counted(others, 'tube')}`] : []),
  ];
}

/** Shows one tube alone: its facts, the jobs due first, and the last dead letters. Redis may be away. */
async function tubeFrame(runtime: DqRuntime, tube: string, causes: readonly Line[]): Promise<Line[]> {
  const { inspector, deadLetters } = runtime;
  const now = runtime.now();
  const [view, page, dead] = await Promise.all([
    inspector.tube(tube),
    inspector.jobs(tube, { limit: MAX_SHOWN, keys: true }).catch(() => undefined), // the facts are unknown then
    deadLetters.list(tube, { limit: MAX_SHOWN, patience: 0 }).catch(() => undefined),
  ]);
  const letters = dead?.letters ?? [];
  return [
    [styled('bold', tube), '  (Esc: back, q quits)'],
    ...causes,
    '',
    ...tubeFacts(view, letters[0], now),
    ...(page && page.jobs.length > 0 ? ['', jobsTable(page.jobs, now)] : []),
    ...(letters.length > 0
      ? [
          '',
          table(
            ['DEAD', 'WHY', column('reason', 'ERROR')],
            letters.map(({ id, key, why, error }) => [key ?? id, why, error?.message.split('\n')[0] ?? '']),
          ),
        ]
      : []),
  ];
}

function jobsTable(jobs: JobPage['jobs'], now: number): Table {
  const rows = jobs.map(({ id, key, state, dueAt }) => [key ?? id, state, instantCell(dueAt, now)]);
  return table(['NEXT JOBS', 'STATE', column('time', 'DUE')], rows);
}

function nodesTable(nodes: readonly NodeView[]): Table {
  const rows = nodes.map(({ endpoint, up, reason, drained, copies, connections }) => [
    endpoint,
    copies?.ready ?? UNKNOWN,
    copies?.delayed ?? UNKNOWN,
    copies?.reserved ?? UNKNOWN,
    copies?.buried ?? UNKNOWN,
    connections ?? UNKNOWN,
    up
      ? drained
        ? styled('yellow', 'up, drained')
        : 'up'
      : styled('red', `DOWN: ${plainReason(reason ?? 'no answer')}`),
  ]);
  return table(['NODE', 'READY', 'DELAYED', 'RESERVED', 'BURIED', 'CONN', column('reason', 'STATE')], rows);
}
