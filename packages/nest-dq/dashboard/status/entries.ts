// The lines of the status bar, worst first.
import type { ProblemsWire } from '../../src/dashboard/wire.js';

export type ClusterProblemWire = ProblemsWire['cluster'][number];
export type TubeProblemWire = ProblemsWire['tubes'][number];
export type Level = 'failure' | 'warning' | 'note';

/** One line: the lost connection, a problem of the cluster, or one that tubes have for the same cause. */
export type Entry =
  | { readonly kind: 'connection'; readonly level: 'failure'; readonly since: number }
  | { readonly kind: 'cluster'; readonly level: Level; readonly problem: ClusterProblemWire }
  | {
      readonly kind: 'tubes';
      readonly level: Level;
      readonly code: TubeProblemWire['code'];
      readonly tubes: readonly TubeProblemWire[];
    };

const LEVELS: readonly Level[] = ['failure', 'warning', 'note'];

/**
 * While nothing runs, that is the cause, and not what was wrong with tubes before.
 * @param cutSince When the connection was lost, if it is.
 */
export function entriesOf(problems: ProblemsWire | undefined, cutSince: number | undefined): Entry[] {
  const { cluster = [], tubes = [] } = problems ?? {};
  const isDown = cluster.some(({ code }) => code === 'ledger-down' || code === 'ledger-unidentified');
  const entries: Entry[] = [
    ...cluster.map((problem) => ({ kind: 'cluster', level: problem.level, problem }) as const),
    ...byCause(tubes.filter(({ asOf }) => !isDown || asOf === undefined)),
  ];
  const sorted = LEVELS.flatMap((level) => entries.filter((each) => each.level === level));
  if (cutSince === undefined) return sorted;
  return [{ kind: 'connection', level: 'failure', since: cutSince }, ...sorted];
}

/** Tubes whose jobs don't run because nothing runs are an effect, which the cause names. */
function byCause(tubes: readonly TubeProblemWire[]): Entry[] {
  const causes = new Map<string, TubeProblemWire[]>();
  for (const tube of tubes.filter(({ code }) => code !== 'ledger-down')) {
    const key = `${tube.level} ${tube.code}`;
    const others = causes.get(key);
    if (others) others.push(tube);
    else causes.set(key, [tube]);
  }
  return Array.from(causes.values(), (each) => {
    const { level, code } = each[0]!;
    return { kind: 'tubes', level, code, tubes: each };
  });
}
