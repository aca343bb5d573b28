import { counted, distance, grouped, instant } from 'nest-handlers/cli';
import type { ProcessRecord } from '../../fleet/presence.js';
import { namesOf } from '../../fleet/unequal-settings.js';
import { type Check, failure, warning } from './check.js';

/** Subject of all checks of processes. */
export const PROCESSES = 'processes';
/** Tubes named in one check. */
const MAX_NAMED = 3;

/** A tube with jobs from which nobody reserves, on no node. */
export interface UnwatchedTube {
  /** Without the prefix. */
  readonly about: string;
  /** Estimated number of jobs, and of due ones among them. */
  readonly jobs: number;
  readonly due: number;
  /** Due time of the first overdue one. */
  readonly oldestDue: Date | undefined;
  /** Processes that announce a handler for it. */
  readonly handling: readonly ProcessRecord[];
}

interface Surroundings {
  /** Ledger time in ms. */
  readonly now: number;
  /** Whether no process of the application has announced itself. */
  readonly isNobodyThere: boolean;
  /** When a process announced itself last, in ms of ledger time. */
  readonly heardAt: (process: ProcessRecord) => number;
  /** Resolves with the minute in which a run last started in any tube; undefined if that is unknown. */
  readonly lastRun: () => Promise<Date | undefined>;
}

/** Returns one check for each cause: no process at all, processes that reserve from no tube, or tubes without a handler. */
export async function checkUnwatched(
  tubes: readonly UnwatchedTube[],
  around: Surroundings,
): Promise<Check[]> {
  const { now, isNobodyThere } = around;
  if (isNobodyThere && tubes.length > 0) return [nobodyThere(tubes, now, await around.lastRun())];
  const orphans = tubes.filter(({ handling }) => handling.length === 0);
  const byHandlers = new Map<string, UnwatchedTube[]>();
  for (const tube of tubes.filter(({ handling }) => handling.length > 0)) {
    const names = namesOf(tube.handling);
    byHandlers.set(names, [...(byHandlers.get(names) ?? []), tube]);
  }
  return [
    ...Array.from(byHandlers.values(), (group) => notReserving(group, around)),
    ...orphans.map((tube) =>
      warning(
        tube.about,
        `${jobsText(tube, now)}, but no consumer`,
        'start a process with a handler for this tube',
      ),
    ),
  ];
}

/** `about 300 jobs in 3 tubes, 12 due, the oldest since 14:00` */
export function jobsText(
  { jobs, due, oldestDue }: Pick<UnwatchedTube, 'jobs' | 'due' | 'oldestDue'>,
  now: number,
  where = '',
): string {
  const oldest = due > 0 && oldestDue ? `, the oldest since ${instant(oldestDue, now)}` : '';
  return `about ${counted(jobs, 'job')}${where}, ${due > 0 ? grouped(due) : 'none'} due${oldest}`;
}

function nobodyThere(tubes: readonly UnwatchedTube[], now: number, lastRun: Date | undefined): Check {
  const sum = (of: 'jobs' | 'due') => tubes.reduce((total, tube) => total + tube[of], 0);
  const times = tubes.flatMap(({ oldestDue }) => oldestDue?.getTime() ?? []);
  const oldestDue = times.length > 0 ? new Date(Math.min(...times)) : undefined;
  const where = ` in ${counted(tubes.length, 'tube')}`;
  const waiting = jobsText({ jobs: sum('jobs'), due: sum('due'), oldestDue }, now, where);
  const last = lastRun ? `; the last run started in the minute of ${instant(lastRun, now)}` : '';
  const fact = `none of the application is running, and ${waiting}${last}`;
  const advice = 'start the application: what is due then runs at once';
  return sum('due') > 0 ? failure(PROCESSES, fact, advice) : warning(PROCESSES, fact, advice);
}

function notReserving(group: readonly UnwatchedTube[], { now, heardAt }: Surroundings): Check {
  const [first, ...others] = group;
  const { handling, about } = first!;
  const [has, does] = handling.length > 1 ? ['have', 'do'] : ['has', 'does'];
  const names = namesOf(handling);
  const heard = `heard of ${distance(Math.max(...handling.map(heardAt)) - now)}`;
  const advice =
    handling.length > 1
      ? 'if they have ended, start them; otherwise their logs say what they wait for, such as Redis or a node'
      : 'if it has ended, start it; otherwise its log says what it waits for, such as Redis or a node';
  if (others.length === 0) {
    const fact = `${jobsText(first!, now)}; ${names} ${has} a handler but ${does} not reserve, ${heard}`;
    return warning(about, fact, advice);
  }
  const shown = group.slice(0, MAX_NAMED).map((tube) => tube.about);
  const more = group.length > MAX_NAMED ? `, and ${group.length - MAX_NAMED} more` : '';
  const fact = `${names} ${has} handlers for ${counted(group.length, 'tube')} with jobs but ${does} not reserve (${shown.join(', ')}${more}), ${heard}`;
  return warning(PROCESSES, fact, advice);
}
