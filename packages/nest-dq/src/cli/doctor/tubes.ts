import { counted, instant } from 'nest-handlers/cli';
import type { Stats } from '../../beanstalk/connection.js';
import type { StoredTube } from '../../api/tube.js';
import type { Ledger } from '../../ledger/ledger.js';
import type { Pause } from '../../ledger/requests.js';
import type { ProcessRecord } from '../../fleet/presence.js';
import { slotsIn } from '../../operate/slots.js';
import { countsOf, type TubeView } from '../../operate/tube-view.js';
import { LONG_PAUSE_MS } from '../../operate/problems.js';
import { ok, warning, type Check } from './check.js';
import type { NodeFacts } from './nodes.js';
import { checkUnwatched, jobsText, type UnwatchedTube } from './unwatched.js';

/** Every connection watches this tube by default, so its watchers mean nothing. */
const WATCHED_BY_ALL = 'default';

/** A tube according to all answering nodes. */
interface TubeFacts {
  readonly name: string;
  /** Estimated number of jobs, and of due ones among them. */
  readonly jobs: number;
  readonly due: number;
  /** Copies that are due, not due yet, reserved, and buried. */
  readonly ready: number;
  readonly delayed: number;
  readonly reserved: number;
  readonly buried: number;
  /** Nodes with copies to run, and those among them where nobody reserves. */
  readonly holding: readonly string[];
  readonly unwatched: readonly string[];
}

/** Facts in addition to the nodes' reports. */
interface Surroundings {
  /** Ledger time in ms. */
  readonly now: number;
  /** The application's processes. */
  readonly processes: readonly ProcessRecord[];
  readonly ledger: Ledger;
  /** Copies of a job, unless the processes announce another number. */
  readonly replicas: number;
  /** Returns what is known of a tube besides: nodes also count copies of dead letters that nobody takes away. */
  readonly viewOf: (tube: string) => TubeView | undefined;
  /** When a process announced itself last, in ms of ledger time. */
  readonly heardAt: (process: ProcessRecord) => number;
  /** Resolves with the minute in which a run last started in any tube, if that is known. */
  readonly lastRun: () => Promise<Date | undefined>;
}

/** Returns all checks of the tubes. */
export async function checkTubes(
  nodes: readonly NodeFacts[],
  prefix: string,
  around: Surroundings,
): Promise<Check[]> {
  const { now, processes, ledger, replicas, viewOf } = around;
  // Each of them is already reported as a failure, and nothing is known about the tubes.
  if (nodes.every(({ error }) => error !== undefined)) return [];
  const ofProcesses = processes.map(({ settings }) => settings.replicas);
  const copies = Math.min(ofProcesses.length > 0 ? Math.max(...ofProcesses) : replicas, nodes.length);
  const answering = nodes.filter(({ error }) => error === undefined).length;
  const tubes = totalsOfAll(nodes, (copies * answering) / nodes.length);
  const checks: Check[] = [];
  const unwatched: UnwatchedTube[] = [];
  let isNobodyThere = processes.length === 0;
  for (const tube of tubes) {
    const about = tube.name.slice(prefix.length);
    const of = ledger.tube(tube.name as StoredTube);
    const pause = await of.paused();
    const { holding } = tube;
    // Full slots are reported by `checkRuns`.
    const saysNothing = tube.name === WATCHED_BY_ALL || slotsIn(processes, about).areFull;
    const without = saysNothing ? [] : tube.unwatched;
    const facts = { about, ...countsIn(viewOf(about), tube) };
    // Another program, such as a go-queue service, consumes it and announces nothing.
    if (without.length < holding.length) isNobodyThere = false;
    if (pause) checks.push(checkPause(facts, pause, now));
    else if (without.length > 0 && without.length < holding.length) checks.push(checkPartly(about, without));
    else if (without.length > 0) {
      const handling = processes.filter(({ tubes }) => tubes.some((load) => load.tube === about));
      unwatched.push({ ...facts, handling });
    }
    const letters = tube.buried > 0 ? await of.letters({ limit: 1, after: undefined }) : undefined;
    if (letters?.letters.length === 0) {
      const fact = `${counted(tube.buried, 'buried copy', 'buried copies')}, but no dead letter in the ledger`;
      const advice =
        'Redis may have lost its data, or a letter was removed while its node was away: inspect them with `peek-buried`';
      checks.push(warning(about, fact, advice));
    }
  }
  checks.push(...(await checkUnwatched(unwatched, { ...around, isNobodyThere })));
  const more = nodes.find((node) => node.more);
  if (more) {
    const advice = 'beanstalkd slows down with the number of tubes: keep it below a few hundred';
    checks.push(warning('tubes', `${more.endpoint} has more than ${more.tubes.size} tubes`, advice));
  }
  return [
    ...checks,
    ...(checks.every(({ level }) => level === 'ok')
      ? [ok('tubes', `${foundText(tubes)}, none without a consumer`)]
      : []),
  ];
}

/** All that is known of the tubes while Redis can't be used. */
export function countTubes(nodes: readonly NodeFacts[]): Check[] {
  if (nodes.every(({ error }) => error !== undefined)) return [];
  return [ok('tubes', `${foundText(totalsOfAll(nodes, 1))}; consumers are unknown without Redis`)];
}

function foundText(tubes: readonly TubeFacts[]): string {
  const copies = tubes.reduce((sum, { ready, delayed, reserved }) => sum + ready + delayed + reserved, 0);
  return `${counted(tubes.length, 'tube')} with ${counted(copies, 'copy', 'copies')} of jobs`;
}

/** @param perJob Average number of copies per job on these nodes. */
function totalsOfAll(nodes: readonly NodeFacts[], perJob: number): TubeFacts[] {
  const names = new Set(nodes.flatMap(({ tubes }) => [...tubes.keys()]));
  return [...names].toSorted().map((name) => totalsOf(nodes, name, perJob));
}

type Counts = Pick<UnwatchedTube, 'jobs' | 'due' | 'oldestDue'>;

function countsIn(view: TubeView | undefined, { jobs, due }: TubeFacts): Counts {
  const { oldestDue, dead = 0, overdue = 0 } = view ?? {};
  if (view?.waiting === undefined || view.due === undefined) return { jobs, due, oldestDue };
  // Copies of dead letters may be among them.
  const certain = Math.max(overdue, view.due - dead);
  return { jobs: view.waiting + view.due + (view.running ?? 0), due: certain, oldestDue };
}

/** A pause is deliberate, so it is no problem until it looks forgotten. */
function checkPause(tube: Omit<UnwatchedTube, 'handling'>, { since, until }: Pause, now: number): Check {
  const end = until === undefined ? 'it is resumed' : instant(new Date(until), now);
  const fact = `paused since ${instant(new Date(since), now)} until ${end}, with ${jobsText(tube, now)}`;
  if (now - since < LONG_PAUSE_MS) return ok(tube.about, fact);
  return warning(tube.about, fact, `if it was forgotten: \`nest-dq resume ${tube.about}\``);
}

function checkPartly(about: string, nodes: readonly string[]): Check {
  const advice = 'check the network between the consumers and the node, and its open file limit';
  return warning(about, `has consumers, but none reserves from ${nodes.join(', ')}`, advice);
}

function totalsOf(nodes: readonly NodeFacts[], name: string, perJob: number): TubeFacts {
  const known = nodes.flatMap(({ endpoint, tubes }) => {
    const stats = tubes.get(name);
    return stats ? [{ endpoint, stats }] : [];
  });
  const sum = (state: string) => known.reduce((total, { stats }) => total + count(stats, state), 0);
  const holding = known.filter(
    ({ stats }) => count(stats, 'ready') + count(stats, 'delayed') + count(stats, 'reserved') > 0,
  );
  const {
    waiting = 0,
    due = 0,
    running = 0,
  } = countsOf(
    known.map(({ stats }) => stats),
    perJob,
  );
  return {
    name,
    jobs: waiting + due + running,
    due,
    ready: sum('ready'),
    delayed: sum('delayed'),
    reserved: sum('reserved'),
    buried: sum('buried'),
    holding: holding.map(({ endpoint }) => endpoint),
    unwatched: holding
      .filter(({ stats }) => Number(stats['current-watching'] ?? 0) === 0)
      .map(({ endpoint }) => endpoint),
  };
}

function count(stats: Stats, state: string): number {
  return Number(stats[`current-jobs-${state}`] ?? 0);
}
