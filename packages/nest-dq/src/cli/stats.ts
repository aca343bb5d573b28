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
import { isAnnouncement } from '../cluster/admission.js';
import { dueOf } from '../operate/due.js';
import type { TubeList, TubeView } from '../operate/tube-view.js';
import type { DeadLetter } from '../api/dead-letter.js';
import { DqError } from '../errors.js';
import type { DqRuntime } from '../nest/runtime.js';
import { clusterCommand, type Connected } from './cluster.js';
import { downLine, LEDGER_STATUS } from './ledger-down.js';
import { nodesDownLine, viewsOfNodes } from './nodes-down.js';
import { outageOf } from './outage.js';
import { note } from './process.js';
import { WATCH_FLAG, watched } from './screen.js';
import { limitsText, tubeFacts } from './tube-facts.js';
import { PREFIX_ADVICE, unknownPrefix } from './unknown-prefix.js';
import { unknownTube } from './unknown-tube.js';

const UNKNOWN = '?';
/** Every connection watches it at first. */
const DEFAULT = 'default';
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
  run(args, connected) {
    const tube = args.operand('TUBE');
    return watched(args, connected.runtime.clock, () =>
      tube === undefined ? ofAll(connected) : ofOne(args, connected, tube),
    );
  },
});

/** The servers that are down: the cause of whatever is unknown or late in an answer. */
interface Servers {
  readonly isLedgerUp: boolean;
  /** The lines above the answer. */
  readonly lines: readonly Line[];
  /** For the JSON document; empty if Redis can be used. */
  readonly json: { readonly redisDown?: { readonly reason: string; readonly since?: Date } };
}

async function lookAtServers({ runtime, cluster, settings }: Connected): Promise<Servers> {
  const { inspector } = runtime;
  const processes = inspector.processes().catch(() => undefined); // the view of the ledger says why
  const [nodes, ledger] = await Promise.all([viewsOfNodes(inspector, processes), inspector.ledger()]);
  const outage = await outageOf(ledger, cluster, settings.prefix);
  const now = runtime.now();
  const { up, reason = 'no answer' } = ledger;
  return {
    isLedgerUp: up,
    lines: [...downLine(ledger, outage, now), ...nodesDownLine(nodes, settings.minWritten, now)],
    json: up ? {} : { redisDown: { reason, ...(outage?.since && { since: outage.since }) } },
  };
}

async function ofAll(connected: Connected): Promise<Answer> {
  const [list, { isLedgerUp, lines, json }] = await Promise.all([
    connected.runtime.inspector.tubes(),
    lookAtServers(connected),
  ]);
  const { tubes, away } = list;
  const isUnknown = tubes.length === 0 && (await warnedOfPrefix(connected));
  const status = isLedgerUp ? (isUnknown || away.length > 0 ? 1 : 0) : LEDGER_STATUS;
  return { json: { ...list, ...json }, text: [...lines, ...showList(list)], status };
}

/** Warns on standard error of a prefix that no tube has, although there are others. Resolves with whether it did. */
async function warnedOfPrefix({ cluster, settings }: Connected): Promise<boolean> {
  const asked = cluster.nodes.map((node) =>
    node.ask<string[]>((connection, done) => connection.listTubes(done)),
  );
  const names = (await Promise.all(asked)).flatMap((tubes) => tubes ?? []);
  const fact = unknownPrefix(
    settings.prefix,
    new Set(names.filter((name) => name !== DEFAULT && !isAnnouncement(name))),
  );
  if (fact !== undefined) note(`${fact} → ${PREFIX_ADVICE}`);
  return fact !== undefined;
}

async function ofOne(args: Arguments, connected: Connected, tube: string): Promise<Answer> {
  const { runtime, cluster } = connected;
  const { inspector } = runtime;
  const [view, newest, { isLedgerUp, lines, json }] = await Promise.all([
    inspector.tube(tube),
    lastDeath(runtime, tube),
    lookAtServers(connected),
  ]);
  const unknown = isLedgerUp ? await unknownTube(inspector, tube, view) : undefined;
  const isWatched = args.has('watch');
  if (unknown && !isWatched) note(unknown.text);
  const isPartial = view.nodes < cluster.nodes.length;
  const status = isLedgerUp ? (unknown || isPartial ? 1 : 0) : LEDGER_STATUS;
  return {
    json: {
      ...view,
      lastDeath: newest,
      ...json,
      ...(unknown && { unknown: true, similar: unknown.similar }),
    },
    text: unknown ? (isWatched ? [unknown.text] : []) : [...lines, ...tubeFacts(view, newest, runtime.now())],
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
    const { tube, waiting, running, dead, limits, retrying, overdueFor } = view;
    return [
      tube === marked ? styled('bold', `▸ ${tube}`) : marked === undefined ? tube : `  ${tube}`,
      waiting ?? UNKNOWN,
      dueOf(view) ?? UNKNOWN,
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

/** Nobody reserves while Redis is away, or while all slots are busy, so that alone doesn't mean that nobody consumes the tube. */
function consumersOf({ paused, watching, consumers, waiting = 0, due = 0 }: TubeView): Cell {
  if (paused) return styled('yellow', 'paused');
  if (watching === undefined || (watching === 0 && consumers === undefined)) return UNKNOWN;
  if (watching > 0 || (consumers ?? 0) > 0) return 'yes';
  return waiting + due > 0 ? styled('red', 'NONE') : 'NONE';
}
