import { counted, grouped, instant } from 'nest-handlers/cli';
import type { Stats } from '../../beanstalk/connection.js';
import type { StoredTube } from '../../api/tube.js';
import type { Ledger } from '../../ledger/ledger.js';
import type { Pause } from '../../ledger/requests.js';
import type { ProcessRecord } from '../../fleet/presence.js';
import { namesOf } from '../../fleet/unequal-settings.js';
import { countsOf } from '../../operate/tube-view.js';
import { LONG_PAUSE_MS } from '../../operate/problems.js';
import { ok, warning, type Check } from './check.js';
import type { NodeFacts } from './nodes.js';

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
}

/** Returns all checks of the tubes. */
export async function checkTubes(
  nodes: readonly NodeFacts[],
  prefix: string,
  { now, processes, ledger, replicas }: Surroundings,
): Promise<Check[]> {
  // Each of them is already reported as a failure, and nothing is known about the tubes.
  if (nodes.every(({ error }) => error !== undefined)) return [];
  const ofProcesses = processes.map(({ settings }) => settings.replicas);
  const copies = Math.min(ofProcesses.length > 0 ? Math.max(...ofProcesses) : replicas, nodes.length);
  const answering = nodes.filter(({ error }) => error === undefined).length;
  const tubes = totalsOfAll(nodes, (copies * answering) / nodes.length);
  const checks: Check[] = [];
  for (const tube of tubes) {
    const about = tube.name.slice(prefix.length);
    const of = ledger.tube(tube.name as StoredTube);
    const pause = await of.paused();
    const handling = processes.filter(({ tubes }) => tubes.some((load) => load.tube === about));
    const consumers = pause ? checkPause(about, tube, pause, now) : checkConsumers(about, tube, handling);
    if (consumers) checks.push(consumers);
    const letters = tube.buried > 0 ? await of.letters({ limit: 1, after: undefined }) : undefined;
    if (letters?.letters.length === 0) {
      const fact = `${counted(tube.buried, 'buried copy', 'buried copies')}, but no dead letter in the ledger`;
      const advice =
        'Redis may have lost its data, or a letter was removed while its node was away: inspect them with `peek-buried`';
      checks.push(warning(about, fact, advice));
    }
  }
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

/** A pause is deliberate, so it is no problem until it looks forgotten. */
function checkPause(about: string, tube: TubeFacts, { since, until }: Pause, now: number): Check {
  const end = until === undefined ? 'it is resumed' : instant(new Date(until), now);
  const fact = `paused since ${instant(new Date(since), now)} until ${end}, with ${jobsOf(tube)}`;
  if (now - since < LONG_PAUSE_MS) return ok(about, fact);
  return warning(about, fact, `if it was forgotten: \`nest-dq resume ${about}\``);
}

/** @param handling Processes that announce a handler for the tube. */
function checkConsumers(
  about: string,
  tube: TubeFacts,
  handling: readonly ProcessRecord[],
): Check | undefined {
  const { name, holding, unwatched } = tube;
  if (name === WATCHED_BY_ALL || unwatched.length === 0) return undefined;
  if (unwatched.length < holding.length) {
    const advice = 'check the network between the consumers and the node, and its open file limit';
    return warning(about, `has consumers, but none reserves from ${unwatched.join(', ')}`, advice);
  }
  const jobs = jobsOf(tube);
  if (handling.length > 0) {
    const advice = 'check its log: it says what it waits for, such as Redis or a node';
    return warning(about, `${jobs}; ${namesOf(handling)} has a handler but does not reserve`, advice);
  }
  return warning(about, `${jobs}, but no consumer`, 'start a process with a handler for this tube');
}

/** `about 300 jobs, 12 due` */
function jobsOf({ jobs, due }: TubeFacts): string {
  return `about ${counted(jobs, 'job')}, ${due > 0 ? grouped(due) : 'none'} due`;
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
