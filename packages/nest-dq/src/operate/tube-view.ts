import { type StoredTube, withoutPrefix } from '../api/tube.js';
import type { Connection, Stats } from '../beanstalk/connection.js';
import { isAnnouncement } from '../cluster/admission.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import type { Cluster } from '../cluster/cluster.js';
import { withinLimit } from '../time/call-limit.js';
import type { Ledger } from '../ledger/ledger.js';
import type { Presence, TubeLoad } from '../fleet/presence.js';
import type { Pause } from '../ledger/requests.js';
import type { WaitingJobs } from '../ledger/waiting/waiting-jobs.js';
import type { Clock } from 'nest-handlers/time';
import { type CopyCounts, copyCounts } from './node-view.js';
import type { TubeLimits } from '../api/limit-options.js';

/**
 * A tube. Nodes count copies, so the numbers of jobs are estimates: correct while each job has all of its copies, and slightly
 * off while many come due. Unknown values are absent.
 */
export interface TubeView {
  /** Name without the prefix. */
  readonly tube: string;
  /** Number of nodes that reported their counts. If it is 0, only what the ledger and the processes report is known. */
  readonly nodes: number;
  /** Approximate number of jobs waiting for their time, or for a retry. */
  readonly waiting?: number;
  /**
   * Number of due jobs not reserved yet: `overdue`, since nodes also count copies of dead letters that nobody takes away while the
   * tube is paused or not consumed. Approximate if jobs aren't listed, or the ledger didn't answer.
   */
  readonly due?: number;
  /** Approximate number of jobs that run, or are reserved and about to run. */
  readonly running?: number;
  /** Number of dead letters. Absent if the ledger didn't answer. */
  readonly dead?: number;
  /** Absent if the tube isn't paused, or, if `dead` is absent too, if that is unknown. */
  readonly paused?: TubePause;
  /** Absent if its handlers have no limits, or they are unknown. */
  readonly limits?: TubeLimitsView;
  /** Present if an operator changed its concurrency or limits, as a process announced within the last 15 s. */
  readonly changedLimits?: { readonly until?: Date };
  /** Number of waiting jobs, including retries, that `DqInspector.jobs` can list. For embedded nodes only `tube` reports it. */
  readonly listed?: number;
  /** Number of listed jobs that are overdue. */
  readonly overdue?: number;
  /** Number of listed jobs that have failed and wait for a retry. */
  readonly retrying?: number;
  /** Due time of the first overdue job. Absent if none is overdue. */
  readonly oldestDue?: Date;
  /** Time since then by the ledger's clock, in ms; 0 if none is overdue. */
  readonly overdueFor?: number;
  /** Number of connections of all processes that reserve from this tube. 0 if nobody consumes it, or it is paused. */
  readonly watching?: number;
  /** Number of processes with a handler for it, as announced within the last 15 s. */
  readonly consumers?: number;
  /** All copies on these nodes. */
  readonly copies?: CopyCounts;
}

/** The tubes known to the nodes: those with jobs, and those that a process uses or consumes. */
export interface TubeList {
  /** Tubes by name. */
  readonly tubes: readonly TubeView[];
  /** Whether there are more than these. */
  readonly more: boolean;
  /** Endpoints of nodes that didn't answer: their copies aren't counted. */
  readonly away: readonly string[];
}

export interface TubeSources {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly settings: { readonly prefix: string };
  /** Absent to leave out listed jobs. */
  readonly waiting?: WaitingJobs | undefined;
  /** Absent to leave out consumers and limits. */
  readonly presence?: Pick<Presence, 'all'> | undefined;
}

/** Time limit for each call to a node, and for all calls to the ledger. */
const LIMIT_MS = 1_000;
const MAX_TUBES = 1_000;
/** Calls in flight to one server, so that nobody waits behind many of them. */
const AT_ONCE = 50;
/** Every connection watches it until it watches another tube. */
const DEFAULT = 'default';

/** Asks each node once for its tubes, and once for each tube. Never rejects. */
export async function viewOfTubes(sources: TubeSources): Promise<TubeList> {
  const { cluster, settings, waiting } = sources;
  return Lanes.during(sources, async (lanes) => {
    const { tubes: shown, more } = await namesOf(lanes, settings.prefix);
    // A complete list has no counts ready: it would walk through all jobs of each tube.
    const counted = waiting?.complete ? { ...sources, waiting: undefined } : sources;
    const tubes = await viewsOf(counted, lanes, shown);
    const away = awayOf(cluster, lanes);
    const isUsed = ({ tube, copies }: TubeView) =>
      settings.prefix + tube !== DEFAULT || (copies && Object.values(copies).some((count) => count > 0));
    return { tubes: tubes.filter(isUsed), more, away };
  });
}

/** Resolves with the tubes' names. Asks each node once; never rejects. */
export async function namesOfTubes(sources: TubeSources): Promise<TubeNames & Pick<TubeList, 'away'>> {
  return Lanes.during(sources, async (lanes) => {
    const names = await namesOf(lanes, sources.settings.prefix);
    return { ...names, away: awayOf(sources.cluster, lanes) };
  });
}

/** Resolves with the names, without the prefix, of tubes that have due jobs, no consumer in any process, and no pause. Never rejects. */
export async function unconsumedTubes(sources: TubeSources): Promise<string[]> {
  return Lanes.during(sources, async (lanes) => {
    const { tubes } = await namesOf(lanes, sources.settings.prefix);
    const byNode = await lanes.statsOf(tubes);
    const total = (i: number, name: string) =>
      [...byNode.values()].reduce((sum, all) => sum + Number((all[i] as Stats | undefined)?.[name] ?? 0), 0);
    const unwatched = tubes.filter(
      (_, i) => total(i, 'current-jobs-ready') > 0 && total(i, 'current-watching') === 0,
    );
    if (unwatched.length === 0) return [];
    const views = await viewsOf({ ...sources, waiting: undefined }, lanes, unwatched);
    // If the ledger didn't report the dead letters, it didn't report a pause either.
    return views
      .filter(({ consumers, dead, paused }) => consumers === 0 && dead !== undefined && !paused)
      .map(({ tube }) => tube);
  });
}

interface TubeNames extends Pick<TubeList, 'more'> {
  readonly tubes: readonly StoredTube[];
}

async function namesOf(lanes: Lanes, prefix: string): Promise<TubeNames> {
  const lists = await lanes.askAll<string[]>((lane) => lane.ask((done) => lane.listTubes(done)));
  const isOurs = (name: string) => name.startsWith(prefix) && name !== prefix && !isAnnouncement(name);
  const names = [...new Set([...lists.values()].flat())].filter(isOurs).sort();
  return { tubes: names.slice(0, MAX_TUBES) as StoredTube[], more: names.length > MAX_TUBES };
}

function awayOf({ nodes }: Cluster, lanes: Lanes): string[] {
  return nodes.filter((node) => !lanes.has(node)).map(({ endpoint }) => endpoint);
}

/** As `viewOfTubes` for one tube, which may not exist. Never rejects. */
export async function viewOfTube(sources: TubeSources, tube: StoredTube): Promise<TubeView> {
  const [view] = await Lanes.during(sources, (lanes) => viewsOf(sources, lanes, [tube]));
  return view!;
}

/**
 * Whether nobody seems to know the tube, so that its name may be wrong: no process consumes it, and no answering node has a copy
 * of a job of it.
 */
export function isUnknown({ nodes, consumers, watching, copies, dead }: TubeView): boolean {
  const isEmpty = nodes > 0 && copies !== undefined && Object.values(copies).every((count) => count === 0);
  return isEmpty && consumers === 0 && watching === 0 && dead === 0;
}

async function viewsOf(
  sources: TubeSources,
  lanes: Lanes,
  tubes: readonly StoredTube[],
): Promise<TubeView[]> {
  const { cluster, settings } = sources;
  const answers = loadsOf(sources);
  const asked = [lanes.statsOf(tubes), factsOf(sources, tubes, answers), answers] as const;
  const [byNode, byLedger, loads] = await Promise.all(asked);
  const { replicas } = cluster.settings;
  const perJob = (Math.min(replicas, cluster.nodes.length) * byNode.size) / cluster.nodes.length;
  return tubes.map((stored, i) => {
    const stats = [...byNode.values()].map((all) => all[i]).filter((each) => typeof each === 'object');
    const tube = withoutPrefix(stored, settings.prefix);
    const view = {
      tube,
      nodes: byNode.size,
      ...(byNode.size > 0 && countsOf(stats, perJob, runningIn(loads?.get(tube)))),
      ...byLedger.get(stored),
    };
    return {
      ...view,
      ...(isWhollyListed(view) && { due: view.overdue! }),
      ...(loads && { consumers: loads.get(tube)?.length ?? 0 }),
    };
  });
}

/** Whether all waiting jobs seem to be listed: nodes have no more than these, besides copies of dead letters. */
export function isWhollyListed({ waiting = 0, due = 0, listed = 0, overdue, dead = 0 }: TubeView): boolean {
  return overdue !== undefined && listed > 0 && waiting + due <= listed + dead;
}

type LedgerFacts = Pick<
  TubeView,
  | 'dead'
  | 'paused'
  | 'limits'
  | 'changedLimits'
  | 'listed'
  | 'overdue'
  | 'retrying'
  | 'oldestDue'
  | 'overdueFor'
>;
type Loads = ReadonlyMap<string, readonly TubeLoad[]>;

/** Returns the facts the ledger reports in time, by tube, with the limits announced by processes. Never rejects. */
async function factsOf(
  { ledger, waiting, clock, settings }: TubeSources,
  tubes: readonly StoredTube[],
  told: Promise<Loads | undefined>,
): Promise<ReadonlyMap<StoredTube, LedgerFacts>> {
  const facts = new Map<StoredTube, LedgerFacts>();
  let isOver = false;
  const note = (tube: StoredTube, more: LedgerFacts) => facts.set(tube, { ...facts.get(tube), ...more });
  const ask = inSlices(tubes, async (tube) => {
    if (isOver) return;
    const of = ledger.tube(tube);
    // The list of a tube may be unavailable for a moment, for example while its slot is moving.
    const listed = waiting?.counts(tube).then(
      ({ listed, overdue, retrying, firstDue }) => {
        const isLate = overdue > 0 && firstDue !== undefined;
        const overdueFor = isLate ? Math.max(0, of.now() - firstDue) : 0;
        note(tube, {
          listed,
          overdue,
          retrying,
          overdueFor,
          ...(isLate && { oldestDue: new Date(firstDue) }),
        });
      },
      () => undefined,
    );
    const [[dead], pause] = await Promise.all([of.ask('deaths', [{ since: 0 }]), of.paused()]);
    note(tube, { dead: dead!, ...(pause && { paused: tubePause(pause) }) });
    const loads = (await told)?.get(withoutPrefix(tube, settings.prefix)) ?? [];
    const changed = loads.find(({ changedUntil }) => changedUntil !== undefined)?.changedUntil;
    if (changed !== undefined) note(tube, { changedLimits: changed > 0 ? { until: new Date(changed) } : {} });
    const limits = limitsTold(loads);
    if (limits) {
      note(tube, { limits });
      const [use] = countsRuns(limits) ? await of.ask('usage', [{}]) : [];
      if (use) note(tube, { limits: { ...limits, running: use.running } });
    }
    await listed;
  });
  await withinLimit(clock, LIMIT_MS, ask).catch(() => undefined); // unanswered values stay absent
  isOver = true;
  return facts;
}

/** Returns the loads announced by processes, by tube name without the prefix; undefined if unknown. Never rejects. */
async function loadsOf({ presence, clock }: TubeSources): Promise<Loads | undefined> {
  if (!presence) return undefined;
  const processes = await withinLimit(clock, LIMIT_MS, presence.all()).catch(() => undefined);
  if (!processes) return undefined;
  const loads = new Map<string, TubeLoad[]>();
  for (const load of processes.flatMap(({ record }) => record.tubes)) {
    const others = loads.get(load.tube);
    if (others) others.push(load);
    else loads.set(load.tube, [load]);
  }
  return loads;
}

function runningIn(loads: readonly TubeLoad[] = []): number {
  return loads.reduce((sum, { running }) => sum + running, 0);
}

/**
 * @param perJob Average number of copies per job on these nodes.
 * @param announced Number of runs that processes announced: a node that restarts hands out again what they hold.
 */
export function countsOf(
  told: readonly Stats[],
  perJob: number,
  announced = 0,
): Pick<TubeView, 'waiting' | 'due' | 'running' | 'watching' | 'copies'> {
  const copies = { ready: 0, delayed: 0, reserved: 0, buried: 0 };
  let watching = 0;
  for (const stats of told) {
    const { ready, delayed, reserved, buried } = copyCounts(stats);
    copies.ready += ready;
    copies.delayed += delayed;
    copies.reserved += reserved;
    copies.buried += buried;
    watching += Number(stats['current-watching'] ?? 0);
  }
  const { ready, delayed, reserved } = copies;
  // A running job has one held copy, and the others are delayed. In a backlog all copies of a job are ready.
  const jobs = Math.ceil((ready + delayed + reserved) / perJob);
  const running = Math.min(jobs, Math.max(reserved, announced));
  const due = Math.min(jobs - running, Math.ceil(ready / perJob));
  return { waiting: jobs - running - due, due, running, watching, copies };
}

/** A separate connection to each reachable node: calls on it hold up no job, and don't make a node count as away. */
class Lanes {
  private readonly lanes = new Map<ClusterNode, Connection>();

  static async during<T>(sources: TubeSources, work: (lanes: Lanes) => Promise<T>): Promise<T> {
    const lanes = new Lanes(sources);
    try {
      return await work(lanes);
    } finally {
      for (const lane of lanes.lanes.values()) lane.close();
    }
  }

  private constructor(private readonly sources: TubeSources) {
    for (const node of sources.cluster.nodes) {
      const lane = node.twin ? undefined : node.connectLane(() => void this.lanes.delete(node));
      if (lane) this.lanes.set(node, lane);
    }
  }

  has(node: ClusterNode): boolean {
    return this.lanes.has(node);
  }

  /** Resolves with the answers of the nodes that answered in time. The others aren't asked again. */
  async askAll<T>(ask: (lane: Connection) => Promise<T>): Promise<Map<ClusterNode, T>> {
    const answers = new Map<ClusterNode, T>();
    const asked = Array.from(this.lanes, async ([node, lane]) => {
      try {
        answers.set(node, await withinLimit(this.sources.clock, LIMIT_MS, ask(lane)));
      } catch {
        lane.close();
      }
    });
    await Promise.all(asked);
    return answers;
  }

  statsOf(tubes: readonly StoredTube[]): Promise<Map<ClusterNode, (Stats | 'NOT_FOUND')[]>> {
    return this.askAll((lane) =>
      inSlices(tubes, (tube) => lane.ask<Stats | 'NOT_FOUND'>((done) => lane.statsTube(tube, done))),
    );
  }
}

async function inSlices<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    answers.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(ask))));
  }
  return answers;
}

/** The limits of a tube, as a process announced them within the last 15 s. What is absent isn't limited. */
export interface TubeLimitsView extends TubeLimits {
  /**
   * Number of running jobs that count: with `concurrency` all, with `perGroup` alone those of jobs with a group. Absent if the
   * tube has neither, or the ledger didn't answer.
   */
  readonly running?: number;
  /** Present if another process has other limits: each applies its own. */
  readonly unequal?: true;
}

/** The limits that processes announce for one tube: those of the first one. */
function limitsTold(loads: readonly TubeLoad[]): TubeLimitsView | undefined {
  const limits = loads.find((load) => load.limits)?.limits;
  if (!limits) return undefined;
  const own = textOf(limits);
  return { ...limits, ...(loads.some((load) => textOf(load.limits) !== own) && { unequal: true }) };
}

/** Whether the ledger counts runs for these limits. */
function countsRuns({ concurrency, perGroup }: TubeLimitsView): boolean {
  return concurrency !== undefined || perGroup !== undefined;
}

function textOf({ rate, per, burst, concurrency, perGroup }: TubeLimits = {}): string {
  return String([rate, per, burst, concurrency, perGroup]);
}

/** A pause of a tube. */
export interface TubePause {
  /** When it began, by the ledger's clock. */
  readonly since: Date;
  /** When it ends automatically. Absent if it lasts until somebody resumes the tube. */
  readonly until?: Date;
}

/** Converts a pause for users. */
export function tubePause({ since, until }: Pause): TubePause {
  return { since: new Date(since), ...(until !== undefined && { until: new Date(until) }) };
}
