// The pauses of a tube: the same rules as pauses/pauses.lua.ts and pauses/pause.lua.ts.
import type { Pause, PauseRequest, PauseSpan } from '../requests.js';
import { keptAfter } from '../ledger.js';
import type { Moment, Records } from '../records/records.js';

/** End of a pause without one: later than the last Date. */
export const FOR_GOOD = 9e15;
/** Number of remembered pauses. Beyond it, the two oldest are merged, including the time between them. */
export const MAX_PAUSES = 8;
/** Time after which to ask again about a pause without an end. */
export const ENDLESS_PAUSE_RETRY_MS = 1_000;

export function pause(records: Records, { until }: PauseRequest, time: Moment): Pause | undefined {
  const to = until === undefined ? FOR_GOOD : Math.ceil(until);
  if (to > time.now) {
    const present = presentOf(records, time);
    const past = present ? records.pauses.slice(0, -1) : records.pauses;
    keepPauses(records, [...past, { from: present?.from ?? time.now, to }], time);
  }
  return paused(records, undefined, time);
}

/** Returns the pause that it ends. */
export function resume(records: Records, _request: object, time: Moment): Pause | undefined {
  const present = presentOf(records, time);
  if (!present) return undefined;
  keepPauses(records, [...records.pauses.slice(0, -1), { ...present, to: time.now }], time);
  return pauseOf(present);
}

export function paused(records: Records, _request: unknown, time: Moment): Pause | undefined {
  const present = presentOf(records, time);
  return present && pauseOf(present);
}

/** In how many ms to ask again; undefined if the tube isn't paused. */
export function pausedFor(records: Records, time: Moment): number | undefined {
  const present = presentOf(records, time);
  if (!present) return undefined;
  return present.to === FOR_GOOD ? ENDLESS_PAUSE_RETRY_MS : present.to - time.now;
}

/** How much of the time from `due` until now doesn't make a job stale, because its tube was paused. */
export function forgiven({ pauses, settings }: Records, due: number, { now }: Moment): number {
  let sum = 0;
  for (const { from, to } of pauses) sum += Math.max(0, Math.min(to, now) - Math.max(from, due));
  // At most this much: otherwise a leftover copy of a finished and forgotten job would run.
  return Math.min(sum, settings.staleAfter);
}

function presentOf({ pauses }: Records, { now }: Moment): PauseSpan | undefined {
  const last = pauses.at(-1);
  return last && last.to > now ? last : undefined;
}

function pauseOf({ from, to }: PauseSpan): Pause {
  return to === FOR_GOOD ? { since: from } : { since: from, until: to };
}

function keepPauses(records: Records, pauses: readonly PauseSpan[], { now }: Moment): void {
  const kept = pauses.filter(({ to }) => to + keptAfter(records.settings) > now);
  while (kept.length > MAX_PAUSES) {
    const [first, second, ...rest] = kept as [PauseSpan, PauseSpan, ...PauseSpan[]];
    kept.splice(0, kept.length, { from: first.from, to: second.to }, ...rest);
  }
  records.keepPauses(kept);
}
