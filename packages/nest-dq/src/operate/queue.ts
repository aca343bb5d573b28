// A tube as a queue with a capacity: how late the jobs of a timeline start. Pure; times in ms since 1970, durations in ms.

/** Consecutive spans of time with the number of jobs that are due in each. Within one they are taken as evenly due. */
export interface Arrivals {
  readonly from: number;
  readonly to: number;
  readonly jobs: number;
}

export interface QueueState {
  /** Start of the first span. */
  readonly now: number;
  /** Jobs that are overdue now. */
  readonly overdue: number;
  /** Jobs that can be run per minute. */
  readonly perMinute: number;
  /** Nothing runs until then. @default now */
  readonly heldUntil?: number;
}

/** How late a job that is due in a span starts: at its start and at its end, and evenly in between. */
export interface Lateness {
  readonly from: number;
  readonly to: number;
  readonly atStart: number;
  /** Below 0 if the tube has caught up before. */
  readonly atEnd: number;
}

/** A span in which a job that comes due starts late. */
export interface LateSpan {
  readonly from: number;
  readonly to: number;
  /** The longest lateness. */
  readonly upTo: number;
}

export function latenessOf(
  spans: readonly Arrivals[],
  { now, overdue, perMinute, heldUntil = now }: QueueState,
): Lateness[] {
  const each = 60_000 / perMinute;
  /** When the last of the jobs so far starts. */
  let free = Math.max(now, heldUntil) + overdue * each;
  return spans.map(({ from, to, jobs }) => {
    const atStart = Math.max(0, free - from);
    const end = Math.max(free, from) + jobs * each;
    free = Math.max(to, end);
    return { from, to, atStart, atEnd: end - to };
  });
}

/** The longest lateness of a job due from `from` to `to`; undefined if no span has such a time. */
export function longestIn(lateness: readonly Lateness[], from: number, to: number): number | undefined {
  const ends = lateness
    .filter((each) => each.from < to && each.to > from)
    .flatMap((each) => [
      latenessAt(each, Math.max(from, each.from)),
      latenessAt(each, Math.min(to, each.to)),
    ]);
  return ends.length === 0 ? undefined : Math.max(...ends);
}

function latenessAt({ from, to, atStart, atEnd }: Lateness, at: number): number {
  return Math.max(0, atStart + ((atEnd - atStart) * (at - from)) / (to - from));
}

/** The times at which jobs start late by `least` or more, joined where they touch. */
export function lateSpans(lateness: readonly Lateness[], least: number): LateSpan[] {
  const late: LateSpan[] = [];
  for (const { from, to, atStart, atEnd } of lateness) {
    const upTo = Math.max(atStart, atEnd);
    if (upTo < least) continue;
    /** When the lateness is `least`, on its way up or down. */
    const at = from + ((least - atStart) / (atEnd - atStart)) * (to - from);
    const span = { from: atStart < least ? at : from, to: atEnd < least ? at : to, upTo };
    const last = late.at(-1);
    if (last?.to === span.from)
      late[late.length - 1] = { from: last.from, to: span.to, upTo: Math.max(last.upTo, upTo) };
    else late.push(span);
  }
  return late;
}

/** Some of the jobs of a timeline, as if they were spread. */
export interface SpreadJobs {
  /** Number of jobs of the timeline due before the first of them. */
  readonly before: number;
  readonly count: number;
  /** When the first is due at the earliest. */
  readonly begin: number;
  /** Time between two. */
  readonly step: number;
}

/**
 * Returns how many of the `counted` jobs due before a time still are once some are spread. Since none gets earlier and the order
 * stays, the number of these is what it was, or the number of turns so far, whichever is less.
 */
export function countSpread(counted: number, at: number, { before, count, begin, step }: SpreadJobs): number {
  const chosen = Math.min(Math.max(counted - before, 0), count);
  const turns = Math.min(Math.max((at - begin) / step, 0), count);
  return counted - chosen + Math.min(chosen, turns);
}
