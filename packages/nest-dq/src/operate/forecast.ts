import type { Clock, Duration, When } from 'nest-handlers/time';
import { type StoredTube, withoutPrefix } from '../api/tube.js';
import { type History, REMEMBERED_MS } from '../fleet/history.js';
import type { WaitingJobs } from '../ledger/waiting/waiting-jobs.js';
import { checkObject } from '../producer/call-options.js';
import { type Capacity, limitCapacity, lowerOf, measuredCapacity } from './capacity.js';
import { bucketsOf } from './history-view.js';
import { checkRange } from './letter-filter.js';
import { type Arrivals, countSpread, lateSpans, latenessOf, longestIn, type SpreadJobs } from './queue.js';
import { checkSpread } from './spread.js';
import { type TubePause, type TubeSources, viewOfTube } from './tube-view.js';
import { checkTimeline, type TimelineBucket, type TimelineOptions } from './waiting-view.js';

/** The jobs that come due, and how late they will run. */
export interface Forecast {
  /**
   * How many jobs the tube can run per minute. Absent if it isn't known: its handler has no rate limit, and in the last two days
   * the tube was never at its limit for three minutes.
   */
  readonly capacity?: Capacity;
  /** Jobs that are overdue now. */
  readonly overdue: number;
  /** The buckets that were asked for. */
  readonly buckets: readonly ForecastBucket[];
  /**
   * The times from now on at which a job that comes due will start late by a minute or more, if nothing is added, fails or moves;
   * `upTo`: the longest lateness, in ms. All in whole minutes, and the same whatever the buckets are: those that begin before the
   * end of the last one. Empty if there are none, if `capacity` is absent, or if `stopped` is set.
   */
  readonly late: readonly { readonly from: Date; readonly to: Date; readonly upTo: number }[];
  /** Set if nothing runs, with no end in sight: the tube is paused until somebody resumes it, or no process consumes it. */
  readonly stopped?: 'paused' | 'unconsumed';
  /** The pause, if there is one. A pause with an end is part of the forecast. */
  readonly paused?: TubePause;
}

/** A bucket of a forecast. */
export interface ForecastBucket extends TimelineBucket {
  /** How late a job due in it starts at most, in ms. Absent for times before now, and where `late` can't be known. */
  readonly lateBy?: number;
}

/** Jobs of a forecast that are counted as if `rescheduleMany` had spread them. */
export type ForecastSpread = {
  /** Jobs due at this time or later. @default all */
  readonly dueFrom?: When;
  /** Jobs due before this time. @default all */
  readonly dueTo?: When;
} & ({ readonly spread: Duration } | { readonly perMinute: number });

/** The sources of a forecast. */
export interface ForecastSources extends Omit<TubeSources, 'waiting'> {
  readonly waiting: WaitingJobs;
  readonly history: History;
  readonly capacities: Capacities;
}

/** Lateness that is worth a warning, in ms. */
const LATE_MS = 60_000;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Looked ahead at least, in ms, so that a forecast for an hour tells when it ends. */
const LEAST_AHEAD_MS = DAY;
/**
 * Jobs are counted in parts, which begin at multiples of their length: it makes a difference whether they are due at the start of
 * one or at its end. In ms; each length is a multiple of the next one.
 */
const PARTS_MS = [DAY, 6 * 60 * MINUTE, 60 * MINUTE, 10 * MINUTE, MINUTE, 10_000] as const;
const MAX_PARTS = 200;
/** Times of one call. */
const MAX_TIMES = 201;

/** Rejects with `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_DURATION`, `DQ_LEDGER_DOWN`. */
export async function forecastOf(
  sources: ForecastSources,
  tube: StoredTube,
  options: TimelineOptions,
  moved?: ForecastSpread,
): Promise<Forecast> {
  const edges = checkTimeline(options);
  const chosen = moved && checkMoved(moved);
  const { waiting, ledger, history, settings, capacities } = sources;
  const [view, measured] = await Promise.all([
    viewOfTube({ ...sources, waiting: undefined }, tube),
    capacities.of(history, settings.prefix, tube),
  ]);
  const now = Math.ceil(ledger.tube(tube).now());
  const due = new DueCounts(waiting, tube);
  const bounds = [chosen?.from, chosen?.to].filter((at) => at !== undefined && at >= 0) as number[];
  await due.read([...edges, now, ...bounds]);
  if (chosen) due.spread = await spreadOf(waiting, tube, chosen, now, due);

  const capacity = lowerOf(limitCapacity(view.limits), measured);
  const { paused } = view;
  const stopped =
    paused && !paused.until
      ? ('paused' as const)
      : view.consumers === 0
        ? ('unconsumed' as const)
        : undefined;
  const overdue = Math.round(due.at(now));
  const end = edges.at(-1)!;
  const lateness =
    capacity && !stopped
      ? latenessOf(await partsOf(due, now, end, capacity.perMinute), {
          now,
          overdue,
          perMinute: capacity.perMinute,
          ...(paused?.until && { heldUntil: paused.until.getTime() }),
        })
      : [];
  const buckets = due.between(edges).map(({ from, to, jobs }) => {
    const lateBy = longestIn(lateness, from, to);
    return {
      from: new Date(from),
      to: new Date(to),
      jobs: Math.round(jobs),
      ...(lateBy !== undefined && { lateBy: Math.round(lateBy) }),
    };
  });
  return {
    ...(capacity && { capacity }),
    overdue,
    buckets,
    late: lateSpans(lateness, LATE_MS)
      .filter(({ from }) => from < end)
      .map(({ from, to, upTo }) => ({
        from: new Date(inMinutes(from)),
        to: new Date(Math.max(inMinutes(to), inMinutes(from) + MINUTE)),
        upTo: inMinutes(upTo),
      })),
    ...(stopped && { stopped }),
    ...(paused && { paused }),
  };
}

function inMinutes(ms: number): number {
  return Math.round(ms / MINUTE) * MINUTE;
}

/** The numbers of jobs that are due before some times: as they are, or once some are spread. */
export class DueCounts {
  /** Set once the counts that it depends on are read. */
  spread: SpreadJobs | undefined;
  private readonly before = new Map<number, number>();

  constructor(
    private readonly waiting: Pick<WaitingJobs, 'dueBefore'>,
    private readonly tube: StoredTube,
  ) {}

  /** Rejects with `DQ_LEDGER_DOWN`. */
  async read(times: readonly number[]): Promise<void> {
    const unread = [...new Set(times)].filter((at) => !this.before.has(at)).toSorted((a, b) => a - b);
    for (let first = 0; first < unread.length; first += MAX_TIMES) {
      const some = unread.slice(first, first + MAX_TIMES);
      const counts = await this.waiting.dueBefore(this.tube, some);
      for (const [i, at] of some.entries()) this.before.set(at, counts[i]!);
    }
  }

  /** The number due before a time that was read. */
  at(time: number): number {
    const counted = this.counted(time);
    return this.spread ? countSpread(counted, time, this.spread) : counted;
  }

  /** The same without the spread. */
  counted(time: number): number {
    return this.before.get(time)!;
  }

  /** The jobs between times that were read. Between two calls some may have moved, so no number is below 0. */
  between(times: readonly number[]): Arrivals[] {
    return times.slice(1).map((to, i) => {
      const from = times[i]!;
      return { from, to, jobs: Math.max(0, this.at(to) - this.at(from)) };
    });
  }
}

/**
 * The jobs from now on, for a day at least, in parts that don't depend on what somebody looks at. Long parts are divided where the
 * exact time of their jobs matters most.
 */
export async function partsOf(
  due: DueCounts,
  now: number,
  end: number,
  perMinute: number,
): Promise<Arrivals[]> {
  const least = Math.max(end, now + LEAST_AHEAD_MS) - now;
  const longest = Math.ceil(least / MAX_PARTS / DAY) * DAY;
  let length = PARTS_MS.findLast((each) => least / each < MAX_PARTS) ?? longest;
  const last = Math.ceil((now + least) / length) * length;
  let times = [now, ...multiples(length, now, last), last];
  await due.read(times);
  for (const shorter of PARTS_MS.filter((each) => each < length)) {
    const error = ({ from, to, jobs }: Arrivals) => Math.min(to - from, (jobs * MINUTE) / perMinute);
    const inexact = due
      .between(times)
      .filter((part) => error(part) > PARTS_MS.at(-1)! && isBetween(part.to - part.from, shorter, length))
      .toSorted((a, b) => error(b) - error(a))
      .slice(0, Math.floor((MAX_PARTS * shorter) / length));
    if (inexact.length === 0) break;
    times = [...times, ...inexact.flatMap(({ from, to }) => multiples(shorter, from, to))].toSorted(
      (a, b) => a - b,
    );
    await due.read(times);
    length = shorter;
  }
  return due.between(times);
}

function isBetween(each: number, above: number, atMost: number): boolean {
  return each > above && each <= atMost;
}

/** The multiples of a length between two times. */
function multiples(length: number, from: number, to: number): number[] {
  const first = Math.floor(from / length) + 1;
  const count = Math.max(0, Math.ceil(to / length) - first);
  return Array.from({ length: count }, (_, i) => (first + i) * length);
}

interface Chosen {
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly stepOf: (count: number) => number;
}

interface AnySpread {
  readonly dueFrom?: When;
  readonly dueTo?: When;
  readonly spread?: Duration;
  readonly perMinute?: number;
}

function checkMoved(moved: ForecastSpread): Chosen {
  const names = ['dueFrom', 'dueTo', 'spread', 'perMinute'] as const;
  const { dueFrom, dueTo, ...when } = checkObject('the spread', moved as AnySpread, names);
  const stepOf = checkSpread(when) ?? checkSpread({ spread: undefined })!; // or it throws
  const range = { ...(dueFrom !== undefined && { dueFrom }), ...(dueTo !== undefined && { dueTo }) };
  const [from, to] = checkRange(range, 'dueFrom', 'dueTo');
  return { from: from > 0 ? from : undefined, to, stepOf };
}

async function spreadOf(
  waiting: WaitingJobs,
  tube: StoredTube,
  { from, to, stepOf }: Chosen,
  now: number,
  due: DueCounts,
): Promise<SpreadJobs | undefined> {
  const before = from === undefined ? 0 : due.counted(from);
  const count = (to === undefined ? (await waiting.counts(tube)).listed : due.counted(to)) - before;
  if (count <= 0) return undefined;
  const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  const { jobs } = await waiting.page(tube, { ...range, limit: 1 });
  const begin = Math.max(jobs[0]?.due ?? from ?? now, now);
  return { before, count, begin, step: stepOf(count) };
}

/** How long a measured capacity is kept, in ms: it takes a call for each hour of two days. */
const KEPT_MS = 60_000;
const MAX_KEPT = 1_000;

/** The measured capacities of tubes. */
export class Capacities {
  private readonly kept = new Map<
    StoredTube,
    { readonly at: number; readonly capacity: Promise<Capacity | undefined> }
  >();

  constructor(private readonly clock: Clock) {}

  /** Rejects with `DQ_LEDGER_DOWN`. */
  of(history: History, prefix: string, tube: StoredTube): Promise<Capacity | undefined> {
    const known = this.kept.get(tube);
    if (known && this.clock.now() - known.at < KEPT_MS) return known.capacity;
    if (this.kept.size >= MAX_KEPT) this.kept.clear();
    const capacity = measure(history, prefix, withoutPrefix(tube, prefix));
    this.kept.set(tube, { at: this.clock.now(), capacity });
    capacity.catch(() => this.kept.delete(tube)); // whoever waits for it gets the error
    return capacity;
  }
}

async function measure(history: History, prefix: string, tube: string): Promise<Capacity | undefined> {
  const now = history.now();
  const range = { tube, from: new Date(now - REMEMBERED_MS), to: new Date(now) };
  return measuredCapacity(await bucketsOf(history, prefix, range));
}
