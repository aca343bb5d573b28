import { grouped, span, table } from 'nest-handlers/cli';
import type { TubeList, TubeView } from '../operate/tube-view.js';
import type { DeadLetter } from '../api/dead-letter.js';
import { DqError } from '../errors.js';
import type { DqRuntime } from '../nest/runtime.js';
import { clusterCommand } from './cluster.js';
import { limitsText, tubeFacts } from './tube-facts.js';

const UNKNOWN = '?';
/** Lateness above which the oldest job is shown. */
const LATE_MS = 1_000;
const HEAD = ['TUBE', 'WAITING', 'DUE', 'RUNNING', 'DEAD', 'CONSUMERS'];

export const stats = clusterCommand({
  name: 'stats',
  operands: ['[TUBE]'],
  summary: 'Show the tubes, with estimated job counts.',
  about:
    'Job counts are estimates, because the nodes count copies. CONSUMERS: whether any connection takes jobs from the tube,\n' +
    'or that it is paused. Shown if they apply: RETRYING: jobs in the index that wait for a retry; LATE: how long the\n' +
    'oldest job in the index has been overdue; LIMITS: the handlers\' limits, such as "3 of 5 running" across all\n' +
    'processes (UNEQUAL: limits differ between processes). With TUBE, shows more.',
  flags: {},
  status: '0 shown; 1 a node is unreachable, so its copies are not counted',
  examples: ['nest-dq stats', 'nest-dq stats order.cancel --json'],
  async run(args, { runtime, cluster }) {
    const name = args.operand('TUBE');
    if (name !== undefined) {
      const [view, newest] = await Promise.all([runtime.inspector.tube(name), lastDeath(runtime, name)]);
      return {
        json: { ...view, lastDeath: newest },
        text: tubeFacts(view, newest, runtime.now()),
        status: view.nodes === cluster.nodes.length ? 0 : 1,
      };
    }
    const list = await runtime.inspector.tubes();
    return { json: list, text: showList(list), status: list.away.length > 0 ? 1 : 0 };
  },
});

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

function showList({ tubes, more, away }: TubeList): string {
  return [
    tubes.length === 0 ? 'no tubes with jobs or consumers' : tubesTable(tubes),
    ...(more ? ['… and more tubes: name one to see it'] : []),
    ...(away.length > 0 ? [`not counted, no answer from: ${away.join(', ')}`] : []),
  ].join('\n');
}

/** Formats one line per tube. */
export function tubesTable(tubes: readonly TubeView[]): string {
  const isLimited = tubes.some(({ limits }) => limits);
  const isRetried = tubes.some(({ retrying = 0 }) => retrying > 0);
  const isLate = tubes.some(({ overdueFor = 0 }) => overdueFor >= LATE_MS);
  const rows = tubes.map(
    ({ tube, waiting, due, running, dead, watching, paused, limits, retrying = 0, overdueFor = 0 }) => [
      tube,
      ...[waiting, due, running, dead].map((count) => count ?? UNKNOWN),
      paused ? 'paused' : watching === undefined ? UNKNOWN : watching > 0 ? 'yes' : 'NONE',
      ...(isRetried ? [grouped(retrying)] : []),
      ...(isLate ? [overdueFor >= LATE_MS ? span(overdueFor) : ''] : []),
      ...(isLimited ? [limits ? limitsText(limits) : ''] : []),
    ],
  );
  const more = [isRetried && 'RETRYING', isLate && 'LATE', isLimited && 'LIMITS'].filter(
    (head) => head !== false,
  );
  return table([...HEAD, ...more], rows);
}
