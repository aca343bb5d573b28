import { type Arguments, instant } from 'nest-handlers/cli';

/** Times this close to now, in ms, count as now. */
const TOLERANCE_MS = 1_000;

/** Throws if the time of a flag is in the past. `remedy`: what does that. */
export function checkFuture(args: Arguments, flag: string, time: Date, now: number, remedy: string): void {
  if (time.getTime() >= now - TOLERANCE_MS) return;
  throw args.wrong(`--${flag} is ${instant(time, now)}: expected a time in the future; ${remedy}.`);
}
