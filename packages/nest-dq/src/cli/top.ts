import { counted, print, span, table } from 'nest-handlers/cli';
import type { LedgerView } from '../ledger/ledger-view.js';
import type { NodeView } from '../operate/node-view.js';
import type { ProcessView } from '../operate/processes.js';
import type { TubeList, TubeView } from '../operate/tube-view.js';
import { clusterCommand } from './cluster.js';
import { tubesTable } from './stats.js';
import type { Clock, Timer } from 'nest-handlers/time';
import { escaped } from 'nest-handlers/log';
import { ENDING } from './process.js';

/** Refresh intervals: the default, and the shortest. */
const INTERVAL_MS = 2_000;
const SHORTEST_MS = 500;
const LONGEST_MS = 3_600_000;
/** Max number of nodes shown; the rest are only counted. */
const MAX_NODES = 6;
const UNKNOWN = '?';

/** The content of a frame. */
export interface TopView {
  readonly nodes: readonly NodeView[];
  readonly ledger: LedgerView;
  readonly tubes: TubeList;
  /** Absent if Redis doesn't answer. */
  readonly processes?: readonly ProcessView[] | undefined;
}

export const top = clusterCommand({
  name: 'top',
  summary: 'Show nodes, Redis and tubes on a live screen. Press q to quit.',
  about: 'Tubes with the most due jobs come first. Without a terminal, requires --count.',
  flags: {
    interval: { value: 'TIME', help: 'refresh interval (default 2s, at least 500ms)' },
    count: { value: 'N', help: 'number of screens to show before exiting' },
  },
  json: false,
  status: '0 quit, or --count reached; 1 could not continue',
  examples: ['nest-dq top --interval 1s --count 2'],
  async run(args, { runtime }) {
    const interval = args.duration('interval') ?? INTERVAL_MS;
    if (interval < SHORTEST_MS || interval > LONGEST_MS)
      throw args.wrong(`--interval is ${span(interval)}: expected 500 ms to 1 h.`);
    const count = args.count('count', 1, 1_000_000_000) ?? Infinity;
    if (count === Infinity && !process.stdout.isTTY)
      throw args.wrong('no terminal: expected --count, or `nest-dq stats` instead.');
    const { inspector, clock } = runtime;
    const screen = new Screen(clock);
    try {
      for (let shown = 1; ; shown++) {
        const [nodes, ledger, tubes, processes] = await Promise.all([
          inspector.nodes(),
          inspector.ledger(),
          inspector.tubes(),
          inspector.processes().catch(() => undefined), // the view of the ledger says why
        ]);
        if (screen.left) return;
        screen.show(frameOf({ nodes, ledger, tubes, processes }, screen.rows, new Date(runtime.now())));
        if (shown >= count) return;
        await screen.rest(interval);
        if (screen.left) return;
      }
    } finally {
      screen.close();
    }
  },
});

/** Returns the lines of a screen with `rows` rows. */
export function frameOf({ nodes, ledger, tubes, processes }: TopView, rows: number, now: Date): string[] {
  const up = nodes.filter((node) => node.up).length;
  const redis = ledger.servers.find(({ roundTrip }) => roundTrip !== undefined)?.roundTrip;
  const time = redis === undefined ? '' : ` in ${Math.ceil(redis)} ms`;
  const ledgerText = ledger.up ? `Redis answers${time}` : `Redis is down: ${ledger.reason ?? ''}`;
  // All processes that looked have found the same jobs.
  const lost = Math.max(0, ...(processes ?? []).map((each) => each.lost ?? 0));
  const head = [
    `${now.toISOString().slice(11, 19)}  ${up} of ${counted(nodes.length, 'node')} up  ${ledgerText}${processes ? `  ${counted(processes.length, 'process', 'processes')}` : ''}  (q quits)`,
    ...(lost > 0 ? [`at least ${counted(lost, 'job')} lost: see \`nest-dq doctor\``] : []),
    '',
    ...nodesTable(nodes.slice(0, MAX_NODES)).split('\n'),
    ...(nodes.length > MAX_NODES ? [`… and ${counted(nodes.length - MAX_NODES, 'node')} more`] : []),
    '',
  ];
  // One row for the table's head, and one for the count of the tubes left out.
  const room = Math.max(1, rows - head.length - 2);
  const sorted = tubes.tubes.toSorted((a, b) => urgency(b) - urgency(a) || (a.tube < b.tube ? -1 : 1));
  const others = sorted.length - room;
  return [
    ...head,
    ...tubesTable(sorted.slice(0, room)).split('\n'),
    ...(others > 0 || tubes.more ? [`… and ${tubes.more ? 'more' : counted(others, 'tube')}`] : []),
  ];
}

function nodesTable(nodes: readonly NodeView[]): string {
  const rows = nodes.map(({ endpoint, up, reason, drained, copies, connections }) => [
    endpoint,
    copies?.ready ?? UNKNOWN,
    copies?.delayed ?? UNKNOWN,
    copies?.reserved ?? UNKNOWN,
    copies?.buried ?? UNKNOWN,
    connections ?? UNKNOWN,
    up ? (drained ? 'up, drained' : 'up') : `DOWN: ${reason}`,
  ]);
  return table(['NODE', 'DUE', 'DELAYED', 'TAKEN', 'BURIED', 'CONN', 'STATE'], rows);
}

/** Sorts tubes with the most due jobs first, then by running and waiting jobs. */
function urgency({ due = 0, running = 0, waiting = 0 }: TubeView): number {
  return due * 1e12 + running * 1e6 + Math.min(waiting, 999_999);
}

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const TOP_LEFT = '\x1b[H';
const REST_OF_LINE = '\x1b[K';
const REST_OF_SCREEN = '\x1b[J';
const CTRL_C = '\x03';

/** A terminal page that is redrawn. Without a terminal, the pages are printed one after the other. */
export class Screen {
  /** Whether the user asked to quit, by q, Ctrl-C or a signal. */
  left = false;
  private resting: { readonly timer: Timer; readonly wake: () => void } | undefined;
  private readonly onKey = (keys: Buffer) => {
    const text = keys.toString();
    if (text.includes('q') || text.includes(CTRL_C)) this.leave();
  };
  private readonly onSignal = () => this.leave();

  constructor(private readonly clock: Clock) {
    for (const signal of ENDING) process.on(signal, this.onSignal);
    if (process.stdin.isTTY) {
      process.stdin.setRawMode(true);
      process.stdin.on('data', this.onKey);
    }
    if (process.stdout.isTTY) process.stdout.write(ENTER);
  }

  get rows(): number {
    return process.stdout.isTTY ? process.stdout.rows : 24;
  }

  /** Lines that are too long are cut, and lines beyond the last row are left out. */
  show(lines: readonly string[]): void {
    if (!process.stdout.isTTY) return void print(`${lines.join('\n')}\n\n`);
    const { columns } = process.stdout;
    const shown = lines.slice(0, this.rows).map((line) => escaped(line).slice(0, columns - 1) + REST_OF_LINE);
    process.stdout.write(TOP_LEFT + shown.join('\r\n') + REST_OF_SCREEN);
  }

  /** Resolves after `ms`, or as soon as the user asks to quit. */
  rest(ms: number): Promise<void> {
    return new Promise((wake) => {
      this.resting = { timer: this.clock.after(ms, wake), wake };
    });
  }

  /** Restores the terminal. */
  close(): void {
    for (const signal of ENDING) process.off(signal, this.onSignal);
    if (process.stdin.isTTY) {
      process.stdin.off('data', this.onKey);
      process.stdin.setRawMode(false);
      process.stdin.pause();
    }
    if (process.stdout.isTTY) process.stdout.write(LEAVE);
  }

  private leave(): void {
    this.left = true;
    this.resting?.timer.cancel();
    this.resting?.wake();
  }
}
