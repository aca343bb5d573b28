import type { Clock, Duration, When } from 'nest-handlers/time';
import { type StoredTube, withoutPrefix } from '../api/tube.js';
import { type History, REMEMBERED_MS } from '../fleet/history.js';
import type { WaitingJobs } from '../ledger/waiting/waiting-jobs.js';
import { checkObject } from '../producer/call-options.js';
import { type Capacity, limitCapacity, lowerOf, measuredCapacity } from './capacity.js';
import { bucketsOf } from './history-view.js';
import { checkRange } from './letter-filter.js';
import { type Arrivals, countSpread, lateSpans, latenessOf, type SpreadJobs } from './queue.js';
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
   * The times from now to the last bucket at which a job that comes due will start late by a minute or more, if nothing is added,
   * fails or moves; `upTo`: the longest lateness, in ms. Empty if there are none, if `capacity` is absent, or if `stopped` is set.
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
/** Each bucket is counted in parts, since jobs due at its start and at its end make a difference: not shorter than this, in ms. */
const SHORTEST_PART_MS = 10_000;
const MAX_PARTS = 600;
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
  const times = timesOf(edges, now, [chosen?.from, chosen?.to]);
  const before = await dueBefore(waiting, tube, times);
  const spread = chosen && (await spreadOf(waiting, tube, chosen, now, before));
  const dueAt = (at: number) => {
    const counted = before.get(at)!;
    return spread ? countSpread(counted, at, spread) : counted;
  };
  const spans = (list: readonly number[]): Arrivals[] =>
    list.slice(1).map((to, i) => ({ from: list[i]!, to, jobs: dueAt(to) - dueAt(list[i]!) }));

  const capacity = lowerOf(limitCapacity(view.limits), measured);
  const { paused } = view;
  const stopped =
    paused && !paused.until
      ? ('paused' as const)
      : view.consumers === 0
        ? ('unconsumed' as const)
        : undefined;
  const parts = spans(times.filter((at) => at >= now && at <= Math.max(now, edges.at(-1)!)));
  const overdue = Math.round(dueAt(now));
  const lateness =
    capacity && !stopped
      ? latenessOf(parts, {
          now,
          overdue,
          perMinute: capacity.perMinute,
          ...(paused?.until && { heldUntil: paused.until.getTime() }),
        })
      : undefined;
  const buckets = spans(edges).map(({ from, to, jobs }) => {
    const lates = lateness?.filter((_, i) => parts[i]!.from < to && parts[i]!.to > from);
    return {
      from: new Date(from),
      to: new Date(to),
      jobs: Math.round(jobs),
      ...(lates && lates.length > 0 && { lateBy: Math.round(Math.max(...lates)) }),
    };
  });
  return {
    ...(capacity && { capacity }),
    overdue,
    buckets,
    late: (lateness ? lateSpans(parts, lateness, LATE_MS) : []).map(({ from, to, upTo }) => ({
      from: new Date(from),
      to: new Date(to),
      upTo: Math.round(upTo),
    })),
    ...(stopped && { stopped }),
    ...(paused && { paused }),
  };
}

/** The edges, now, the given times, and from now on some within each bucket. In ascending order. */
export function timesOf(
  edges: readonly number[],
  now: number,
  more: readonly (number | undefined)[],
): readonly number[] {
  const times = new Set([...edges, now, ...more.filter((at) => at !== undefined && at >= 0)] as number[]);
  const ahead = [now, ...edges.filter((edge) => edge > now)];
  const most = Math.floor(MAX_PARTS / ahead.length);
  for (const [i, to] of ahead.slice(1).entries()) {
    const from = ahead[i]!;
    const parts = Math.max(1, Math.min(most, Math.ceil((to - from) / SHORTEST_PART_MS)));
    for (let part = 1; part < parts; part++) times.add(Math.round(from + ((to - from) * part) / parts));
  }
  return [...times].sort((a, b) => a - b);
}

async function dueBefore(
  waiting: WaitingJobs,
  tube: StoredTube,
  times: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const before = new Map<number, number>();
  for (let first = 0; first < times.length; first += MAX_TIMES) {
    const some = times.slice(first, first + MAX_TIMES);
    const counts = await waiting.dueBefore(tube, some);
    // Jobs move between two calls: a later time never has fewer.
    for (const [i, at] of some.entries())
      before.set(at, Math.max(counts[i]!, i + first > 0 ? before.get(times[i + first - 1]!)! : 0));
  }
  return before;
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
  dueBefore: ReadonlyMap<number, number>,
): Promise<SpreadJobs | undefined> {
  const before = from === undefined ? 0 : dueBefore.get(from)!;
  const count = (to === undefined ? (await waiting.counts(tube)).listed : dueBefore.get(to)!) - before;
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
