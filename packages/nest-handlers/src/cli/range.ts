import type { Arguments } from './arguments.js';
import { instant } from './output.js';

/** A range of times; an end that wasn't given is undefined. */
export interface TimeRange {
  /** The first time in it. */
  readonly from: Date | undefined;
  /** The first time after it. */
  readonly to: Date | undefined;
}

/** Returns the times of `--from` and `--to`. */
export function rangeOf(args: Arguments, now: number): TimeRange {
  const [from, to] = [args.instant('from', now), args.instant('to', now)];
  if (from && to && to <= from)
    throw args.wrong(
      `--from is ${instant(from, now)} and --to is ${instant(to, now)}: expected --to to be later.`,
    );
  return { from, to };
}

/** As `rangeOf`, for what has happened: `--from 5m` would be five minutes from now, and select nothing. */
export function pastRangeOf(args: Arguments, now: number): TimeRange {
  const range = rangeOf(args, now);
  if (range.from && range.from.getTime() > now)
    throw args.wrong(
      `--from is ${instant(range.from, now)}: expected a time in the past, such as -1h for an hour ago.`,
    );
  return range;
}
