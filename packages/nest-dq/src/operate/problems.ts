// Finds the problems of a cluster, worst first, by the limits that `doctor` and the alerts have too. Codes and parameters only: the
// page has the words.
import type { DqHealthState } from '../health/health.js';
import { SILENT_AFTER_MS } from '../fleet/presence.js';
import type { UnequalFacts } from '../fleet/unequal-settings.js';
import type { LedgerView } from '../ledger/ledger-view.js';
import { unfitSettings, type UnfitSetting } from '../ledger/unfit-settings.js';
import { awayCause, type AwayCause } from './away-cause.js';
import { dueOf } from './due.js';
import type { ProcessView } from './processes.js';
import type { RecentRuns } from './recent-runs.js';
import type { SeriesView } from './series-view.js';
import { slotsIn } from './slots.js';
import type { TubeList, TubeView } from './tube-view.js';

/** A pause is deliberate, so it is no problem until it looks forgotten. The alert uses the same limit. */
export const LONG_PAUSE_MS = 86_400_000;
/** A job that was due just now is about to run. */
const SOON_MS = 5_000;
/** Due jobs without a consumer for this long are a failure, as in the alert. */
const LONG_UNCONSUMED_MS = 300_000;
/** A tube fails if more than this share of its runs does, and at least this number. The alert uses the same limits. */
const FAILING_SHARE = 0.2;
const FAILING_LEAST = 10;
/** A slot that one run has had for this long keeps due jobs waiting. */
const STUCK_MS = 60_000;
/** A process that is gone is a problem for this long: then its jobs have run elsewhere. */
const LONG_GONE_MS = 600_000;
/** The worst ones that are listed. */
export const MAX_TUBES = 50;

/**
 * `failure`: jobs don't run, or can't be added. `warning`: needs a look within the day. `note`: deliberate, or an effect of another
 * problem.
 */
export type ProblemLevel = 'failure' | 'warning' | 'note';

/** A problem of the whole cluster. */
export type ClusterProblem = {
  readonly level: ProblemLevel;
  /** When it began, by the ledger's clock. Absent if unknown. */
  readonly since?: Date;
} & (
  | {
      /** Redis doesn't answer, or refuses what a run needs: no job runs. */
      readonly code: 'ledger-down';
      readonly cause: AwayCause;
      readonly address?: string;
      /** The reason in the words of the server. Only for a cause that has no words of its own. */
      readonly reason?: string;
    }
  /** The identity of the ledger can't be read: no job runs. */
  | { readonly code: 'ledger-unidentified'; readonly reason: string }
  /** Other processes use another ledger. If `refused`, this process runs nothing; otherwise jobs may run twice. */
  | { readonly code: 'other-ledger'; readonly node: string; readonly refused: boolean }
  /** Fewer nodes than `minWritten` store: adds fail. If `up` is 0, no job runs either. */
  | {
      readonly code: 'too-few-nodes';
      readonly up: number;
      readonly needed: number;
      readonly total: number;
      readonly nodes: readonly AwayNode[];
    }
  /** Names of keys that mean other bytes in other processes. */
  | { readonly code: 'refused-keys'; readonly keys: readonly string[] }
  | { readonly code: 'lost-jobs'; readonly count: number; readonly tube?: string; readonly id?: string }
  /** No process consumes anything, and jobs wait. */
  | { readonly code: 'no-process'; readonly jobs: number; readonly due: number }
  /** Processes that fell silent without a goodbye, the last one first: killed, frozen, or cut off. */
  | { readonly code: 'silent-processes'; readonly processes: readonly SilentProcess[] }
  /** Its jobs run from their copies on other nodes. */
  | ({ readonly code: 'node-down'; readonly up: number; readonly total: number } & AwayNode)
  /** Settings of the servers because of which jobs may run twice, each once. */
  | { readonly code: 'ledger-unfit'; readonly settings: readonly UnfitSetting[] }
  | { readonly code: 'unreadable-jobs'; readonly count: number; readonly keys: readonly string[] }
  | { readonly code: 'unequal-settings'; readonly differences: readonly UnequalFacts[] }
);

/** A process that fell silent. */
export interface SilentProcess {
  /** `host:pid` */
  readonly process: string;
  /** When it was last heard of. */
  readonly since: Date;
}

/** A node that can't be used, and why. */
export interface AwayNode {
  readonly node: string;
  readonly cause: AwayCause;
  /** The reason in its own words. Only for a cause that has none. */
  readonly reason?: string;
}

/** Why the jobs of a tube don't run, or not in time. */
export type TubeProblemCode =
  | 'ledger-down'
  | 'paused'
  | 'no-consumer'
  | 'settling'
  | 'not-reserving'
  | 'failing'
  | 'limited'
  | 'slots-full'
  | 'rate-limited'
  | 'group-limited'
  | 'nodes-away'
  | 'series-missed'
  | 'behind';

/** A tube whose jobs don't run, or not in time. */
export interface TubeProblem {
  readonly code: TubeProblemCode;
  readonly level: ProblemLevel;
  readonly tube: string;
  /** Jobs that the problem is about: overdue ones; with retries if runs fail; all that wait if the tube has no consumer. Absent if unknown. */
  readonly jobs?: number;
  /** How many of them are due. Absent if unknown. */
  readonly due?: number;
  /** Number of dead letters. Absent if unknown. */
  readonly dead?: number;
  /** Due time of the first overdue job. Absent if none is, or it is unknown. */
  readonly oldestDue?: Date;
  /** When the pause began, and ends. */
  readonly since?: Date;
  readonly until?: Date;
  /** Who paused it. Absent if unknown. */
  readonly by?: string;
  /** Runs in progress, out of at most `most`. */
  readonly running?: number;
  readonly most?: number;
  /** Starts of a rate, at most `most` in this many ms. */
  readonly per?: number;
  /** Failed share of the runs that ended in the last 15 to 30 minutes: 0 to 1. */
  readonly failed?: number;
  /** The number of these runs, and how many of them failed. */
  readonly runs?: number;
  readonly failedRuns?: number;
  /** When its series should have run. Also if another cause explains that. */
  readonly missedSince?: Date;
  /** Whether `jobs` grows or shrinks. Absent before two looks some seconds apart. */
  readonly trend?: 'growing' | 'shrinking' | 'steady';
  /** Time until no job is overdue, at the present rate, in ms. Absent if it doesn't shrink. */
  readonly caughtUpIn?: number;
  /** When this was found, if it can't be judged now, since the ledger or the nodes don't answer. */
  readonly asOf?: Date;
}

/** Problems, worst first. */
export interface Problems {
  /** The worst level; absent if nothing is wrong. */
  readonly level?: ProblemLevel;
  readonly cluster: readonly ClusterProblem[];
  /** At most 50. */
  readonly tubes: readonly TubeProblem[];
  /** Number of tubes with problems beyond these. */
  readonly moreTubes?: number;
}

/** Facts to judge. A part that couldn't be read is null, and nothing is concluded from it. */
export interface ProblemFacts {
  /** Ledger time in ms, and the machine's: only the ledger's is shown. */
  readonly now: number;
  readonly wall: number;
  readonly minWritten: number;
  readonly health: DqHealthState | null;
  readonly tubes: TubeList | null;
  readonly ledger: LedgerView | null;
  readonly processes: readonly ProcessView[] | null;
  /** Processes that are gone without a goodbye. */
  readonly gone: readonly ProcessView[];
  /** Settings that differ in other processes. */
  readonly unequal: readonly UnequalFacts[];
  /** Recent runs, by tube. */
  readonly runs: ReadonlyMap<string, RecentRuns>;
  /** All series. */
  readonly series: readonly Pick<SeriesView, 'tube' | 'missedSince'>[];
  /** Whoever paused a tube, by tube. */
  readonly pausedBy: ReadonlyMap<string, string>;
  /** Whether processes may not have announced themselves again yet, so that nobody seems to consume. */
  readonly settling: boolean;
}

/** Returns all problems. */
export function problemsOf(facts: ProblemFacts): Problems {
  const cluster = [...ledgerProblems(facts), ...nodeProblems(facts), ...otherProblems(facts)].toSorted(
    (a, b) =>
      RANKS.indexOf(a.code) - RANKS.indexOf(b.code) || LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level),
  );
  const nothingRuns = cluster.some(stopsAll);
  const missed = missedSeries(facts);
  const all = tubesOf(facts, missed)
    .map((tube) => tubeProblem(tube, facts, missed.get(tube.tube), nothingRuns))
    .filter((problem) => problem !== undefined)
    .toSorted(byWeight);
  const tubes = all.slice(0, MAX_TUBES);
  const level = worstOf([...cluster, ...all]);
  return {
    ...(level && { level }),
    cluster,
    tubes,
    ...(all.length > tubes.length && { moreTubes: all.length - tubes.length }),
  };
}

/** The worst level; undefined if there is no problem. */
export function worstOf(problems: readonly { readonly level: ProblemLevel }[]): ProblemLevel | undefined {
  return LEVELS.find((level) => problems.some((each) => each.level === level));
}

/** By tube. Just after an outage of the ledger, whatever is overdue is about to run. */
function missedSeries({ series, settling }: ProblemFacts): Map<string, Date> {
  if (settling) return new Map();
  const missed = series.map(({ tube, missedSince }) => [tube, missedSince] as const);
  const known = missed.filter((entry): entry is [string, Date] => entry[1] !== undefined);
  return new Map(known.toSorted(([, a], [, b]) => b.getTime() - a.getTime())); // the longest of a tube
}

/** The tubes, with those whose series has no job: the nodes may not know them. */
function tubesOf({ tubes }: ProblemFacts, missed: ReadonlyMap<string, Date>): TubeView[] {
  if (!tubes) return [];
  const known = tubes.tubes;
  const others = [...missed.keys()].filter((name) => !known.some(({ tube }) => tube === name));
  const none = tubes.away.length === 0 && { waiting: 0, due: 0 };
  return [...known, ...others.map((tube) => ({ tube, nodes: 0, ...none }))];
}

const LEVELS: readonly ProblemLevel[] = ['failure', 'warning', 'note'];
/** By severity. */
const RANKS: readonly ClusterProblem['code'][] = [
  'ledger-down',
  'ledger-unidentified',
  'too-few-nodes',
  'other-ledger',
  'refused-keys',
  'no-process',
  'lost-jobs',
  'silent-processes',
  'node-down',
  'ledger-unfit',
  'unreadable-jobs',
  'unequal-settings',
];

/** Whether no job runs because of it. */
export function stopsAll(problem: ClusterProblem): boolean {
  if (problem.code === 'other-ledger') return problem.refused;
  return problem.code === 'ledger-down' || problem.code === 'ledger-unidentified';
}

function ledgerProblems({ health, ledger, now, wall }: ProblemFacts): ClusterProblem[] {
  const problems: ClusterProblem[] = [];
  const { redisDown, unidentified, otherLedger } = health ?? {};
  if (health?.redis === 'down') {
    const reason = redisDown?.reason ?? ledger?.reason ?? '';
    const cause = awayCause(reason);
    const address = ledger?.servers.find((server) => !server.up)?.address ?? ledger?.servers[0]?.address;
    problems.push({
      code: 'ledger-down',
      level: 'failure',
      cause,
      ...(address !== undefined && { address }),
      ...(cause === 'other' && reason !== '' && { reason }),
      ...(redisDown?.since && { since: new Date(redisDown.since.getTime() + now - wall) }),
    });
  }
  if (unidentified !== undefined)
    problems.push({ code: 'ledger-unidentified', level: 'failure', reason: unidentified });
  if (otherLedger) {
    const { node, refused } = otherLedger;
    problems.push({ code: 'other-ledger', level: refused ? 'failure' : 'warning', node, refused });
  }
  const settings = (ledger?.servers ?? []).flatMap(unfitOf);
  const each = new Map(settings.map((setting) => [JSON.stringify(setting), setting]));
  if (each.size > 0) problems.push({ code: 'ledger-unfit', level: 'warning', settings: [...each.values()] });
  return problems;
}

function unfitOf(server: LedgerView['servers'][number]): UnfitSetting[] {
  const { up, reason } = server;
  if (!up) return [];
  return reason === undefined ? unfitSettings(server) : [{ is: 'unreadable', reason }];
}

function nodeProblems({ health, minWritten, now, wall }: ProblemFacts): ClusterProblem[] {
  const nodes = Object.entries(health?.nodes ?? {});
  const away = nodes.filter(([, reason]) => reason !== 'up');
  if (away.length === 0) return [];
  const sinceOf = (node: string) => {
    const since = health?.nodesSince?.[node];
    return since && new Date(since.getTime() + now - wall);
  };
  const [total, up] = [nodes.length, nodes.length - away.length];
  if (up < minWritten) {
    const times = away.map(([node]) => sinceOf(node)).filter((each) => each !== undefined);
    // Adds fail since the node went that was one too many; nothing runs since the last one went.
    const last = times.toSorted((a, b) => a.getTime() - b.getTime())[
      up === 0 ? total - 1 : total - minWritten
    ];
    return [
      {
        code: 'too-few-nodes',
        level: 'failure',
        up,
        needed: minWritten,
        total,
        nodes: away.map(awayNode),
        ...(last && { since: last }),
      },
    ];
  }
  return away.map(([node, reason]) => {
    const since = sinceOf(node);
    const level = 'warning';
    return { code: 'node-down', level, up, total, ...awayNode([node, reason]), ...(since && { since }) };
  });
}

function awayNode([node, reason]: readonly [endpoint: string, reason: string]): AwayNode {
  const cause = awayCause(reason);
  return { node, cause, ...(cause === 'other' && { reason }) };
}

/** Just after an outage of the ledger, processes haven't announced themselves again. */
function silentProcesses({ processes, gone, now, settling }: ProblemFacts): ClusterProblem[] {
  if (settling) return [];
  const silent = [...(processes ?? []), ...gone].filter(({ toldAt }) => {
    const silentFor = now - toldAt.getTime();
    return silentFor > SILENT_AFTER_MS && silentFor < LONG_GONE_MS;
  });
  if (silent.length === 0) return [];
  const named = silent
    .map(({ host, pid, toldAt }) => ({ process: `${host}:${pid}`, since: toldAt }))
    .toSorted((a, b) => b.since.getTime() - a.since.getTime());
  return [{ code: 'silent-processes', level: 'warning', processes: named, since: named[0]!.since }];
}

/** One cause for all tubes: the application isn't running. Another program that consumes tubes announces nothing. */
function noProcess({ processes, gone, tubes, settling }: ProblemFacts): ClusterProblem[] {
  if (settling || !processes || !tubes || processes.some(({ consumes }) => consumes)) return [];
  const sum = (of: (tube: TubeView) => number) => tubes.tubes.reduce((total, tube) => total + of(tube), 0);
  const due = sum((tube) => dueOf(tube) ?? 0);
  const jobs = sum(({ waiting = 0 }) => waiting) + due;
  if (jobs === 0 || sum(({ watching = 0 }) => watching) > 0) return [];
  const since = gone.find(({ consumes }) => consumes)?.toldAt;
  return [{ code: 'no-process', level: due > 0 ? 'failure' : 'warning', jobs, due, ...(since && { since }) }];
}

function otherProblems(facts: ProblemFacts): ClusterProblem[] {
  const { health, processes, unequal } = facts;
  const problems: ClusterProblem[] = [...noProcess(facts), ...silentProcesses(facts)];
  const { refusedKeys = [], unreadable, lost } = health ?? {};
  if (refusedKeys.length > 0) problems.push({ code: 'refused-keys', level: 'failure', keys: refusedKeys });
  // All processes find the same jobs.
  const count = Math.max(lost?.count ?? 0, ...(processes ?? []).map((each) => each.lost ?? 0));
  if (count > 0) {
    const { tube, id } = lost?.latest ?? {};
    const latest = tube !== undefined && id !== undefined && { tube, id };
    problems.push({ code: 'lost-jobs', level: 'warning', count, ...latest });
  }
  if (unreadable) problems.push({ code: 'unreadable-jobs', level: 'warning', ...unreadable });
  if (unequal.length > 0) problems.push({ code: 'unequal-settings', level: 'warning', differences: unequal });
  return problems;
}

/** A tube's problem without its counts. */
type Finding = Pick<TubeProblem, 'code' | 'level'> & Partial<TubeProblem>;

function tubeProblem(
  tube: TubeView,
  facts: ProblemFacts,
  missedSince: Date | undefined,
  nothingRuns: boolean,
): TubeProblem | undefined {
  const finding = findingOf(tube, facts, missedSince, nothingRuns);
  if (!finding) return undefined;
  const { dead, oldestDue } = tube;
  const [jobs, due] = [jobsOf(finding.code, tube), dueOf(tube)];
  return {
    tube: tube.tube,
    ...(jobs !== undefined && { jobs }),
    ...(due !== undefined && { due }),
    ...(dead !== undefined && { dead }),
    ...(oldestDue && { oldestDue }),
    ...(missedSince && { missedSince }),
    ...finding,
  };
}

function jobsOf(code: TubeProblemCode, tube: TubeView): number | undefined {
  const { waiting, retrying = 0 } = tube;
  const due = dueOf(tube);
  if (due === undefined) return undefined;
  if (code === 'failing') return due + retrying;
  if (code !== 'no-consumer' && code !== 'settling') return due;
  return waiting === undefined ? undefined : waiting + due;
}

/** The first cause that explains why jobs don't run. */
function findingOf(
  tube: TubeView,
  facts: ProblemFacts,
  missedSince: Date | undefined,
  nothingRuns: boolean,
): Finding | undefined {
  const due = dueOf(tube) ?? 0; // an unknown count is no finding of its own: `LastCauses` keeps the one before
  if (nothingRuns) return due > 0 ? { code: 'ledger-down', level: 'note' } : undefined;
  if (tube.paused) return due > 0 || isLong(tube.paused, facts) ? pauseOf(tube, facts) : undefined;
  const finding = unconsumed(tube, facts) ?? failing(tube, facts) ?? late(tube, facts);
  const isExplained = finding !== undefined && finding.code !== 'behind';
  return missedSince && !isExplained ? { code: 'series-missed', level: 'warning' } : finding;
}

function isLong({ since }: NonNullable<TubeView['paused']>, { now }: ProblemFacts): boolean {
  return now - since.getTime() >= LONG_PAUSE_MS;
}

function pauseOf({ tube, paused }: TubeView, facts: ProblemFacts): Finding {
  const { since, until } = paused!;
  const by = facts.pausedBy.get(tube);
  return {
    code: 'paused',
    level: isLong(paused!, facts) ? 'warning' : 'note',
    since,
    ...(until && { until }),
    ...(by !== undefined && { by }),
  };
}

/** Jobs without a consumer wait forever, so they are a problem even before they're due. Without the ledger, consumers are unknown. */
function unconsumed(tube: TubeView, facts: ProblemFacts): Finding | undefined {
  const { settling } = facts;
  const { waiting = 0, consumers, watching, overdueFor = 0 } = tube;
  const due = dueOf(tube) ?? 0;
  if (consumers === undefined || watching !== 0 || waiting + due === 0) return undefined;
  if (slotsOf(tube, facts).areFull) return undefined; // full processes watch no node
  if (settling) return overdueFor > SOON_MS ? { code: 'settling', level: 'note' } : undefined;
  if (consumers === 0)
    return { code: 'no-consumer', level: overdueFor >= LONG_UNCONSUMED_MS ? 'failure' : 'warning' };
  return overdueFor > SOON_MS ? { code: 'not-reserving', level: 'warning' } : undefined;
}

function failing({ tube }: TubeView, { runs }: ProblemFacts): Finding | undefined {
  const recent = runs.get(tube);
  if (!recent || recent.failed < FAILING_LEAST) return undefined;
  const ended = recent.failed + recent.completed;
  const failed = recent.failed / ended;
  if (failed <= FAILING_SHARE) return undefined;
  return {
    code: 'failing',
    level: 'warning',
    failed,
    runs: ended,
    failedRuns: recent.failed,
  };
}

function late(tube: TubeView, facts: ProblemFacts): Finding | undefined {
  const slots = slotsOf(tube, facts);
  const level = 'warning';
  // Jobs whose process died aren't listed any more, so nothing says since when they are due.
  if (slots.areStuck && (dueOf(tube) ?? 0) > 0)
    return { code: 'slots-full', level, running: slots.running, most: slots.most };
  if ((tube.overdueFor ?? 0) <= SOON_MS) return undefined;
  const { limits } = tube;
  if (limits?.concurrency !== undefined && (limits.running ?? 0) >= limits.concurrency)
    return { code: 'limited', level, running: limits.running!, most: limits.concurrency };
  const { running, most } = slots;
  if (slots.areFull) return { code: 'slots-full', level, running, most };
  if (limits?.rate !== undefined) return { code: 'rate-limited', level, most: limits.rate, per: limits.per! };
  if (limits?.perGroup !== undefined) return { code: 'group-limited', level, most: limits.perGroup };
  return { code: (facts.tubes?.away.length ?? 0) > 0 ? 'nodes-away' : 'behind', level };
}

/** The slots of a tube in all processes, and how many of them are in use. `areStuck`: each has been for a while. */
function slotsOf({ tube }: TubeView, { processes, now }: ProblemFacts) {
  const { loads, running, slots: most, areFull } = slotsIn(processes ?? [], tube);
  const long = loads.flatMap(({ longRuns }) =>
    longRuns.filter(({ since }) => now - since.getTime() > STUCK_MS),
  );
  return { running, most, areFull, areStuck: most > 0 && long.length >= most };
}

/** By harm: first what never ends by itself, last what people have set so. */
const HARM: readonly TubeProblemCode[] = [
  'ledger-down',
  'no-consumer',
  'not-reserving',
  'failing',
  'nodes-away',
  'series-missed',
  'slots-full',
  'behind',
  'limited',
  'group-limited',
  'rate-limited',
  'paused',
  'settling',
];

/** The worst first, then those with most at stake. */
export function byWeight(a: TubeProblem, b: TubeProblem): number {
  return (
    LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) ||
    HARM.indexOf(a.code) - HARM.indexOf(b.code) ||
    (b.due ?? 0) - (a.due ?? 0) ||
    (b.jobs ?? 0) - (a.jobs ?? 0) ||
    (a.tube < b.tube ? -1 : 1)
  );
}
