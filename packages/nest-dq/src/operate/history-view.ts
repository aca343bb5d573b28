import { showInstant, type When } from 'nest-handlers/time';
import { type Tube, tubeName } from '../api/tube.js';
import { wrongValue } from '../errors.js';
import { LATENESS_CLASSES } from '../events/lateness-classes.js';
import { FIRST_CLASS, PLACES, RUN_TIME, TIMED } from '../events/tally.js';
import {
  addCounts,
  ALL_TUBES,
  type History,
  HOUR,
  hourOf,
  type MinuteOfTube,
  QUARTER,
  quartersBetween,
  REMEMBERED_MS,
} from '../fleet/history.js';
import { checkBetween, checkObject } from '../producer/call-options.js';
import { parseWhen } from '../time/instant.js';

/** Selects a part of the history. */
export interface HistoryRange {
  /** @default all tubes together */
  tube?: string | Tube;
  /** A time in the first minute. Anything older than two days is forgotten. */
  from: When;
  /** A time in the last minute. */
  to: When;
}

/** Counts for one minute, in all processes. */
export interface HistoryBucket {
  /** Start of the minute. */
  readonly at: Date;
  /** Jobs added or replaced. */
  readonly scheduled: number;
  /** Runs started. */
  readonly started: number;
  /** Runs that succeeded. */
  readonly completed: number;
  /** Runs that failed. */
  readonly failed: number;
  /** Jobs that became dead letters. */
  readonly dead: number;
  /** Jobs that expired and ended: not those of processes with an older version. */
  readonly expired: number;
  /** Ended runs whose duration is known: not those of processes with an older version. */
  readonly timed: number;
  /** Sum of the durations of these runs, in ms. */
  readonly runTime: number;
  /** Started runs by lateness: at most `upTo` ms late, and more than in the previous entry. The last one is Infinity. */
  readonly byLateness: readonly { readonly upTo: number; readonly started: number }[];
}

/**
 * Resolves with the minutes of the range in which anything happened. Rejects with `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_TUBE`,
 * `DQ_LEDGER_DOWN`.
 */
export async function bucketsOf(
  history: History,
  prefix: string,
  given: HistoryRange,
): Promise<HistoryBucket[]> {
  const { tube, from, to } = checkObject('the range', given, ['tube', 'from', 'to']);
  const name = tube === undefined ? ALL_TUBES : tubeName(tube, prefix);
  const [first, last] = [parseWhen(from as When), parseWhen(to as When)];
  if (first > last)
    throw wrongValue('DQ_BAD_OPTION', '`from`', new Date(first), `at most \`to\`, ${showInstant(last)}`);
  const now = history.now();
  const buckets: HistoryBucket[] = [];
  const end = Math.floor(Math.min(last, now) / 60_000);
  let minute = Math.floor(Math.max(first, now - REMEMBERED_MS) / 60_000);
  while (minute <= end) {
    const next = (hourOf(minute) + 1) * HOUR;
    for (const each of await history.read(name, minute, Math.min(end, next - 1))) {
      buckets.push(bucketOf(each.minute, each.counts));
    }
    minute = next;
  }
  return buckets;
}

function bucketOf(minute: number, counts: readonly number[]): HistoryBucket {
  const count = (place: number) => counts[place] ?? 0;
  const byLateness = [...LATENESS_CLASSES, Infinity].map((upTo, i) => ({
    upTo,
    started: count(FIRST_CLASS + i),
  }));
  return {
    at: new Date(minute * 60_000),
    scheduled: count(PLACES.scheduled),
    started: byLateness.reduce((sum, { started }) => sum + started, 0),
    completed: count(PLACES.completed),
    failed: count(PLACES.failed),
    dead: count(PLACES.dead),
    expired: count(PLACES.expired),
    timed: count(TIMED),
    runTime: count(RUN_TIME) / 1_000,
    byLateness,
  };
}

const MINUTE = 60_000;
const DAY = 1_440;

/**
 * Sums up steps of `minutes` minutes, starting with that of `from`: two days by the minute are some 700 kB, more than a chart can
 * show. Throws `DQ_BAD_OPTION`.
 */
export function inSteps(history: readonly HistoryBucket[], from: Date, minutes: number): HistoryBucket[] {
  checkBetween('minutes', minutes, 1, DAY);
  const length = minutes * MINUTE;
  const first = Math.floor(from.getTime() / MINUTE) * MINUTE;
  const steps = new Map<number, HistoryBucket>();
  for (const each of history) {
    const at = first + Math.floor((each.at.getTime() - first) / length) * length;
    const sum = steps.get(at);
    steps.set(at, sum ? sumOf(sum, each) : { ...each, at: new Date(at) });
  }
  return [...steps.values()];
}

/** The sum of both, with the start of the first one. */
export function sumOf(sum: HistoryBucket, more: HistoryBucket): HistoryBucket {
  return {
    at: sum.at,
    scheduled: sum.scheduled + more.scheduled,
    started: sum.started + more.started,
    completed: sum.completed + more.completed,
    failed: sum.failed + more.failed,
    dead: sum.dead + more.dead,
    expired: sum.expired + more.expired,
    timed: sum.timed + more.timed,
    runTime: sum.runTime + more.runTime,
    byLateness: sum.byLateness.map(({ upTo, started }, i) => ({
      upTo,
      started: started + more.byLateness[i]!.started,
    })),
  };
}

/** How much a tube runs now, and how late its runs started in the last two days. */
export interface TubeHistory {
  /** Name without the prefix. */
  readonly tube: string;
  /** Average runs started per minute, in the last whole quarter of an hour and the current one. */
  readonly perMinute: number;
  /**
   * Average duration of a run in ms: of the latest quarters of an hour that have 20 runs together, or else of two days. Absent if
   * none is known.
   */
  readonly meanRun?: number;
  /** The hours in which any run started, in chronological order. */
  readonly hours: readonly StartedRuns[];
  /** The same by the minute, if the history of all tubes is shorter than two hours; otherwise empty. */
  readonly minutes: readonly StartedRuns[];
}

/** Runs started in an hour or a minute. */
export interface StartedRuns {
  /** Start of the hour or minute. */
  readonly at: Date;
  /** Runs started, by the lateness classes of `HistoryBucket.byLateness`. */
  readonly started: readonly number[];
}

/** An average of these says enough of the present. */
const ENOUGH_RUNS = 20;
/** In minutes. An hour is too coarse for a history shorter than this. */
const SHORT_HISTORY = 2 * HOUR;

/**
 * Resolves with all tubes that have counts of their own, in one call for each hour of two days, and of a short history once more.
 * Rejects with `DQ_LEDGER_DOWN`.
 */
export async function historyOfTubes(history: History): Promise<TubeHistory[]> {
  const now = history.now() / 60_000;
  const quarters = await quartersBetween(history, now - REMEMBERED_MS / MINUTE, now);
  const start = quarters.reduce((least, { minute }) => Math.min(least, minute), Infinity);
  const isShort = now - start < SHORT_HISTORY;
  const short = isShort ? [...new Set(quarters.map(({ minute }) => hourOf(minute)))] : [];
  const minutes = (await Promise.all(short.map((hour) => history.minutes(hour)))).flat();
  const minutesOf = byTube(minutes);
  const began = isShort ? minutes.reduce((least, { minute }) => Math.min(least, minute), now) : 0;
  return Array.from(byTube(quarters), ([tube, ofTube]) => ({
    tube,
    perMinute: paceOf(ofTube, now, began),
    ...meanOf(ofTube),
    hours: startsIn(ofTube, HOUR),
    minutes: startsIn(minutesOf.get(tube) ?? [], 1),
  }));
}

function byTube(parts: readonly MinuteOfTube[]): Map<string, MinuteOfTube[]> {
  const tubes = new Map<string, MinuteOfTube[]>();
  for (const part of parts) {
    const others = tubes.get(part.tube);
    if (others) others.push(part);
    else tubes.set(part.tube, [part]);
  }
  return tubes;
}

/** @param began The minute in which a short history begins. */
function paceOf(quarters: readonly MinuteOfTube[], now: number, began: number): number {
  const from = (Math.floor(now / QUARTER) - 1) * QUARTER;
  const started = quarters.filter(({ minute }) => minute >= from).flatMap(startedIn);
  const observed = now - Math.max(from, began);
  return started.reduce((sum, runs) => sum + runs, 0) / Math.max(1, observed);
}

function meanOf(quarters: readonly MinuteOfTube[]): Pick<TubeHistory, 'meanRun'> {
  let [timed, runTime] = [0, 0];
  for (const { counts } of quarters.toReversed()) {
    timed += counts[TIMED] ?? 0;
    runTime += counts[RUN_TIME] ?? 0;
    if (timed >= ENOUGH_RUNS) break;
  }
  return timed > 0 ? { meanRun: runTime / timed / 1_000 } : {};
}

/** Sums up parts of the history, in steps of `length` minutes. Those in which nothing started are left out. */
function startsIn(parts: readonly MinuteOfTube[], length: number): StartedRuns[] {
  const steps = new Map<number, number[]>();
  for (const part of parts) {
    const at = part.minute - (part.minute % length);
    const known = steps.get(at) ?? [];
    addCounts(known, startedIn(part));
    steps.set(at, known);
  }
  return Array.from(steps, ([at, started]) => ({ at: new Date(at * MINUTE), started })).filter(
    ({ started }) => started.some((runs) => runs > 0),
  );
}

function startedIn({ counts }: MinuteOfTube): readonly number[] {
  return Array.from({ length: LATENESS_CLASSES.length + 1 }, (_, i) => counts[FIRST_CLASS + i] ?? 0);
}
