import { counted, grouped, instant, span } from 'nest-handlers/cli';
import type { ClusterInspector } from '../../operate/inspector.js';
import { type ClusterProblem, problemsOf, type TubeProblem } from '../../operate/problems.js';
import type { ProcessView } from '../../operate/processes.js';
import type { TubeList } from '../../operate/tube-view.js';
import { withinLimit } from '../../time/call-limit.js';
import type { Clock } from 'nest-handlers/time';
import { runningIn } from '../running.js';
import { type Check, warning } from './check.js';
import { PROCESSES } from './unwatched.js';

/** Time limit for reading silent processes and history. */
const LIMIT_MS = 2_000;

type Facts = Pick<ClusterInspector, 'goneProcesses' | 'recentRuns' | 'historyOfTubes'>;
/** Processes named in one check. */
const MAX_NAMED = 3;

/**
 * Warns of tubes whose runs fail, start late, or don't end, and of processes that fell silent, by the same limits as the dashboard
 * and the alerts.
 * @param now Ledger time in ms.
 */
export async function checkRuns(
  inspector: Facts,
  { tubes, processes }: { readonly tubes: TubeList; readonly processes: readonly ProcessView[] },
  clock: Clock,
  now: number,
): Promise<Check[]> {
  const asked = Promise.all([inspector.goneProcesses(), inspector.recentRuns(), inspector.historyOfTubes()]);
  const known = await withinLimit(clock, LIMIT_MS, asked).catch(() => undefined);
  if (!known) return [warning('runs', 'could not be read', 'run this command again')];
  const [gone, runs, histories] = known;
  const { cluster, tubes: problems } = problemsOf({
    now,
    wall: now,
    minWritten: 0,
    health: null,
    tubes,
    ledger: null,
    processes,
    gone,
    unequal: [],
    runs,
    series: [],
    pausedBy: new Map(),
    settling: false,
  });
  const means = new Map(histories.map(({ tube, meanRun }) => [tube, meanRun]));
  const stuck = runningIn(processes, means, now).runs.filter(({ probablyStuck }) => probablyStuck);
  const longest = new Map(stuck.toReversed().map((run) => [run.tube, run])); // they are listed longest first
  return [
    ...cluster.flatMap((problem) => checkSilent(problem, now)),
    ...problems.flatMap((problem) => checkProblem(problem, now)),
    ...Array.from(longest, ([tube, { key, id, process, runningFor, meanRun = 0 }]) => {
      const more = stuck.filter((run) => run.tube === tube).length - 1;
      const others = more > 0 ? `, and ${counted(more, 'other')}` : '';
      const fact = `${key ?? id} has run for ${span(runningFor)} in ${process}, usually ${span(meanRun)}: probably stuck${others}`;
      const advice = `\`nest-dq running ${tube}\` lists them: find out what they wait for, and restart the process; a \`timeout\` would end them`;
      return warning(tube, fact, advice);
    }),
  ];
}

function checkSilent(problem: ClusterProblem, now: number): Check[] {
  if (problem.code !== 'silent-processes') return [];
  const { processes } = problem;
  const names = processes
    .slice(0, MAX_NAMED)
    .map(({ process, since }) => `${process} since ${instant(since, now)}`)
    .join(', ');
  const more = processes.length > MAX_NAMED ? `, and ${processes.length - MAX_NAMED} more` : '';
  const [who, have] = processes.length > 1 ? ['processes', 'have'] : ['process', 'has'];
  const fact = `${processes.length} ${who} ${have} fallen silent without a goodbye: ${names}${more}`;
  const advice = 'killed, frozen, or cut off from Redis: check their machines and logs';
  return [warning(PROCESSES, fact, advice)];
}

/** The other problems have checks of their own. */
function checkProblem(problem: TubeProblem, now: number): Check[] {
  const { code, tube, due = 0, dead = 0, oldestDue, most = 0, per = 0 } = problem;
  const since = oldestDue ? `, the oldest since ${instant(oldestDue, now)}` : '';
  const late = `${counted(due, 'job')} overdue${since}`;
  const tooLow = (flag: string) => `if that is too low: \`nest-dq limit ${tube} --${flag} N\``;
  switch (code) {
    case 'failing': {
      const { failedRuns = 0, runs = 0 } = problem;
      const letters = dead > 0 ? `; ${counted(dead, 'dead letter')}` : '';
      const where = dead > 0 ? `dead groups ${tube}` : `jobs ${tube} --state retrying`;
      return [
        warning(
          tube,
          `${grouped(failedRuns)} of ${counted(runs, 'recent run')} failed${letters}`,
          `see why: \`nest-dq ${where}\`; to keep attempts until it is mended: \`nest-dq pause ${tube} --until 30m\``,
        ),
      ];
    }
    case 'limited':
      return [
        warning(
          tube,
          `${late}: its limit of ${counted(most, 'run')} at once is reached`,
          tooLow('concurrency'),
        ),
      ];
    case 'rate-limited':
      return [warning(tube, `${late}: limited to ${counted(most, 'run')} in ${span(per)}`, tooLow('rate'))];
    case 'group-limited':
      return [
        warning(tube, `${late}: limited to ${counted(most, 'run')} per group at once`, tooLow('per-group')),
      ];
    case 'slots-full':
      return [
        warning(
          tube,
          `${late}: all ${counted(most, 'slot')} of its processes are taken`,
          `\`nest-dq running ${tube}\` shows by what; start more processes, or raise \`concurrency\``,
        ),
      ];
    case 'behind':
      return [
        warning(
          tube,
          `${late}, although processes have free slots`,
          `\`nest-dq jobs ${tube} --limit 1\` names one; \`nest-dq explain\` says why it has not run`,
        ),
      ];
    default:
      return [];
  }
}
