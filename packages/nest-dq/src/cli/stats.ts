import {
  type Answer,
  type Arguments,
  type Cell,
  column,
  grouped,
  type Line,
  span,
  styled,
  type Table,
  table,
} from 'nest-handlers/cli';
import type { TubeList, TubeView } from '../operate/tube-view.js';
import type { DeadLetter } from '../api/dead-letter.js';
import { DqError } from '../errors.js';
import type { DqRuntime } from '../nest/runtime.js';
import { clusterCommand } from './cluster.js';
import { downLine, LEDGER_STATUS } from './ledger-down.js';
import { note } from './process.js';
import { WATCH_FLAG, watched } from './screen.js';
import { limitsText, tubeFacts } from './tube-facts.js';
import { unknownTube } from './unknown-tube.js';

const UNKNOWN = '?';
/** Lateness above which the oldest job is shown. */
const LATE_MS = 1_000;

export const stats = clusterCommand({
  name: 'stats',
  withoutRedis: true,
  operands: ['[TUBE]'],
  summary: 'Show the tubes, with estimated job counts.',
  about:
    'Job counts are estimates, because the nodes count copies. CONSUMERS: whether any connection takes jobs from the tube,\n' +
    'or that it is paused. Shown if they apply: RETRYING: jobs in the index that wait for a retry; LATE: how long the\n' +
    'oldest job in the index has been overdue; LIMITS: the handlers\' limits, such as "3 of 5 running" across all\n' +
    'processes (UNEQUAL: limits differ between processes). With TUBE, shows more.',
  flags: { ...WATCH_FLAG },
  status:
    '0 shown; 1 unknown tube, or a node is unreachable, so its copies are not counted; 2 Redis unusable',
  examples: ['nest-dq stats', 'nest-dq stats order.cancel --json'],
  run(args, { runtime, cluster }) {
    const tube = args.operand('TUBE');
    const nodes = cluster.nodes.length;
    return watched(args, runtime.clock, () =>
      tube === undefined ? ofAll(runtime) : ofOne(args, runtime, tube, nodes),
    );
  },
});

async function ofAll({ inspector }: DqRuntime): Promise<Answer> {
  const [list, ledger] = await Promise.all([inspector.tubes(), inspector.ledger()]);
  const status = ledger.up ? (list.away.length > 0 ? 1 : 0) : LEDGER_STATUS;
  return { json: list, text: [...downLine(ledger), ...showList(list)], status };
}

async function ofOne(args: Arguments, runtime: DqRuntime, tube: string, nodes: number): Promise<Answer> {
  const { inspector } = runtime;
  const [view, newest, ledger] = await Promise.all([
    inspector.tube(tube),
    lastDeath(runtime, tube),
    inspector.ledger(),
  ]);
  const unknown = ledger.up ? await unknownTube(inspector, tube, view) : undefined;
  const isWatched = args.has('watch');
  if (unknown && !isWatched) note(unknown.text);
  const status = ledger.up ? (unknown || view.nodes < nodes ? 1 : 0) : LEDGER_STATUS;
  return {
    json: { ...view, lastDeath: newest, ...(unknown && { unknown: true, similar: unknown.similar }) },
    text: unknown
      ? isWatched
        ? [unknown.text]
        : []
      : [...downLine(ledger), ...tubeFacts(view, newest, runtime.now())],
    status,
  };
}

/** The tube's view already shows what is unreachable. */
async function lastDeath({ deadLetters }: DqRuntime, tube: string): Promise<DeadLetter | undefined> {
  try {
    const { letters } = await deadLetters.list(tube, { limit: 1, patience: 0 });
    return letters[0];
  } catch (error) {
    if (error instanceof DqError && error.code === 'DQ_LEDGER_DOWN') return undefined;
    throw error;
  }
}

function showList({ tubes, more, away }: TubeList): Line[] {
  return [
    ...(tubes.length > 0 ? [tubesTable(tubes)] : away.length > 0 ? [] : ['no tubes with jobs or consumers']),
    ...(more ? ['… and more tubes: name one to see it'] : []),
    ...(away.length > 0 ? [styled('red', `not counted, no answer from: ${away.join(', ')}`)] : []),
  ];
}

/** One line per tube, that of `marked` in bold. */
export function tubesTable(tubes: readonly TubeView[], marked?: string): Table {
  const isLimited = tubes.some(({ limits }) => limits);
  const isRetried = tubes.some(({ retrying = 0 }) => retrying > 0);
  const isLate = tubes.some(({ overdueFor = 0 }) => overdueFor >= LATE_MS);
  const rows = tubes.map((view): Cell[] => {
    const { tube, waiting, due, running, dead, limits, retrying, overdueFor } = view;
    return [
      tube === marked ? styled('bold', `▸ ${tube}`) : marked === undefined ? tube : `  ${tube}`,
      waiting ?? UNKNOWN,
      due ?? UNKNOWN,
      ...(isLate ? [lateCell(overdueFor)] : []),
      running ?? UNKNOWN,
      dead === undefined ? UNKNOWN : dead > 0 ? styled('yellow', dead) : dead,
      consumersOf(view),
      ...(isRetried ? [retrying === undefined ? UNKNOWN : grouped(retrying)] : []),
      ...(isLimited ? [limits ? limitsText(limits) : ''] : []),
    ];
  });
  const head = [
    'TUBE',
    'WAITING',
    'DUE',
    ...(isLate ? [column('time', 'LATE')] : []),
    'RUNNING',
    'DEAD',
    'CONSUMERS',
    ...(isRetried ? [column('optional', 'RETRYING')] : []),
    ...(isLimited ? [column('optional', 'LIMITS')] : []),
  ];
  return table(head, rows);
}

function lateCell(overdueFor: number | undefined): Cell {
  if (overdueFor === undefined) return UNKNOWN;
  return overdueFor >= LATE_MS ? styled('red', span(overdueFor)) : '';
}

/** Nobody reserves while Redis is away, so that alone doesn't mean that nobody consumes the tube. */
function consumersOf({ paused, watching, consumers, waiting = 0, due = 0 }: TubeView): Cell {
  if (paused) return styled('yellow', 'paused');
  if (watching === undefined || (watching === 0 && consumers === undefined)) return UNKNOWN;
  if (watching > 0) return 'yes';
  return waiting + due > 0 ? styled('red', 'NONE') : 'NONE';
}
