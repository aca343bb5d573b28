import { showInstant, type When } from 'nest-handlers/time';
import { type Tube, tubeName } from '../api/tube.js';
import { wrongValue } from '../errors.js';
import { FIRST_CLASS, LATENESS_CLASSES, NUMBERS, PLACES } from '../events/tally.js';
import {
  addCounts,
  ALL_TUBES,
  type History,
  HOUR,
  hourOf,
  type MinuteOfTube,
  QUARTER,
  REMEMBERED,
} from '../fleet/history.js';
import { checkBetween, checkObject } from '../producer/call-options.js';
import { parseWhen } from '../time/instant.js';

/** Which part of the history is asked for. */
export interface HistoryRange {
  /** @default all tubes together */
  tube?: string | Tube;
  /** The minute that has this instant is the first. What is older than two days is forgotten. */
  from: When;
  /** The minute that has this instant is the last. */
  to: When;
}

/** What happened in one minute, in all processes. */
export interface HistoryBucket {
  /** When the minute began. */
  readonly at: Date;
  /** Jobs that were added or replaced. */
  readonly scheduled: number;
  /** Runs that began. */
  readonly started: number;
  /** Runs that went well. */
  readonly completed: number;
  /** Runs that failed. */
  readonly failed: number;
  /** Jobs that became dead letters. */
  readonly dead: number;
  /** The same by lateness: runs that began at most `upTo` milliseconds late, and later than the entry before. The last is Infinity. */
  readonly byLateness: readonly { readonly upTo: number; readonly started: number }[];
}

/** The minutes of the range in which anything happened. `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_TUBE`, `DQ_LEDGER_DOWN`. */
export async function bucketsOf(
  history: History,
  prefix: string,
  given: HistoryRange,
): Promise<HistoryBucket[]> {
  const { tube, from, to } = checkObject('the range', given, ['tube', 'from', 'to']);
  const name = tube === undefined ? ALL_TUBES : tubeName(tube, prefix);
  const [first, last] = [parseWhen(from as When), parseWhen(to as When)];
  if (first > last)
    throw wrongValue(
      'DQ_BAD_OPTION',
      '`from`',
      new Date(first),
      `${showInstant(last)} or earlier, as \`to\` is that`,
    );
  const now = history.now();
  const buckets: HistoryBucket[] = [];
  const end = Math.floor(Math.min(last, now) / 60_000);
  let minute = Math.floor(Math.max(first, now - REMEMBERED) / 60_000);
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
    byLateness,
  };
}

const MINUTE = 60_000;
const DAY = 1_440;

/**
 * Adds up so many minutes as one, beginning with that of `from`: two days by the minute are some 700 kB, which nobody sees in a chart.
 * `DQ_BAD_OPTION`.
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

/** Both as one, which begins when the first one does. */
export function sumOf(sum: HistoryBucket, more: HistoryBucket): HistoryBucket {
  return {
    at: sum.at,
    scheduled: sum.scheduled + more.scheduled,
    started: sum.started + more.started,
    completed: sum.completed + more.completed,
    failed: sum.failed + more.failed,
    dead: sum.dead + more.dead,
    byLateness: sum.byLateness.map(({ upTo, started }, i) => ({
      upTo,
      started: started + more.byLateness[i]!.started,
    })),
  };
}

/** How much a tube runs now, and how late its runs began in the last two days. */
export interface TubeHistory {
  /** Without the prefix. */
  readonly tube: string;
  /** Runs that began in a minute, on average: in the last whole quarter of an hour, and in the one that goes on. */
  readonly perMinute: number;
  /** The hours in which any run began, the first one first. */
  readonly hours: readonly {
    /** When the hour began. */
    readonly at: Date;
    /** Runs that began, by the classes of lateness of `HistoryBucket.byLateness`. */
    readonly started: readonly number[];
  }[];
}

/** All tubes that have numbers of their own, in one call for each hour of two days. `DQ_LEDGER_DOWN`. */
export async function historyOfTubes(history: History): Promise<TubeHistory[]> {
  const now = history.now() / 60_000;
  const first = hourOf(now - REMEMBERED / 60_000);
  const hours = Array.from({ length: hourOf(now) - first + 1 }, (_, i) => first + i);
  const quarters = (await Promise.all(hours.map((hour) => history.quarters(hour)))).flat();
  const byTube = new Map<string, MinuteOfTube[]>();
  for (const quarter of quarters) {
    const others = byTube.get(quarter.tube);
    if (others) others.push(quarter);
    else byTube.set(quarter.tube, [quarter]);
  }
  return Array.from(byTube, ([tube, ofTube]) => ({
    tube,
    perMinute: paceOf(ofTube, now),
    hours: hoursOf(ofTube),
  }));
}

function paceOf(quarters: readonly MinuteOfTube[], now: number): number {
  const from = (Math.floor(now / QUARTER) - 1) * QUARTER;
  const started = quarters.filter(({ minute }) => minute >= from).flatMap(startedIn);
  return started.reduce((sum, runs) => sum + runs, 0) / (now - from);
}

function hoursOf(quarters: readonly MinuteOfTube[]): TubeHistory['hours'] {
  const hours = new Map<number, number[]>();
  for (const quarter of quarters) {
    const hour = hourOf(quarter.minute);
    const known = hours.get(hour) ?? [];
    addCounts(known, startedIn(quarter));
    hours.set(hour, known);
  }
  return Array.from(hours, ([hour, started]) => ({ at: new Date(hour * 3_600_000), started })).filter(
    ({ started }) => started.some((runs) => runs > 0),
  );
}

function startedIn({ counts }: MinuteOfTube): readonly number[] {
  return Array.from({ length: NUMBERS - FIRST_CLASS }, (_, i) => counts[FIRST_CLASS + i] ?? 0);
}
