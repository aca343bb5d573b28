// Where the jobs of a spread go. Pure: the same act, continued, gives each job the same time.
import type { Duration } from 'nest-handlers/time';
import { wrongValue } from '../errors.js';
import { checkObject } from '../producer/call-options.js';
import { parseDuration } from '../time/duration.js';

/**
 * Spreads jobs evenly, in the order of their due times, from the first due time, or from now if that is later: over a duration,
 * or at a number per minute. No job gets earlier; one that is due after its turn keeps its time.
 */
export type Spread = { readonly spread: Duration } | { readonly perMinute: number };

export const MOST_PER_MINUTE = 1_000_000;

/** Returns the ms between two of `count` jobs; undefined if it isn't a spread. Throws `DQ_BAD_DURATION`, `DQ_BAD_OPTION`. */
export function checkSpread(when: unknown): ((count: number) => number) | undefined {
  if (typeof when !== 'object' || when === null) return undefined;
  if ('spread' in when) {
    const { spread } = checkObject('the new time', when as { spread: Duration }, ['spread']);
    const length = parseDuration(spread, '`spread`');
    if (length <= 0) throw wrongValue('DQ_BAD_DURATION', '`spread`', spread, 'a duration longer than 0');
    return (count) => length / count;
  }
  if ('perMinute' in when) {
    const { perMinute } = checkObject('the new time', when as { perMinute: number }, ['perMinute']);
    const interval = 60_000 / checkPerMinute(perMinute);
    return () => interval;
  }
  return undefined;
}

/** Throws `DQ_BAD_OPTION`. */
export function checkPerMinute(perMinute: unknown): number {
  if (typeof perMinute === 'number' && perMinute > 0 && perMinute <= MOST_PER_MINUTE) return perMinute;
  throw wrongValue('DQ_BAD_OPTION', '`perMinute`', perMinute, `a number above 0, at most ${MOST_PER_MINUTE}`);
}

/** The turns of jobs by rank, from 0. Ledger times in ms. */
export interface Turns {
  readonly begin: number;
  readonly step: number;
}

/** The turn of a rank, in whole ms. */
export function turnOf({ begin, step }: Turns, rank: number): number {
  return Math.floor(begin + rank * step);
}

/** The ranks of jobs that the act has moved: the due time of each is the turn of a rank that no other one has. */
export class TakenRanks {
  readonly ranks = new Set<number>();
  /** The next rank to try, by due time: several ranks may have their turns in one ms. */
  private readonly next = new Map<number, number>();

  constructor(private readonly turns: Turns) {}

  note(due: number): void {
    const { turns } = this;
    let rank = this.next.get(due) ?? Math.max(0, Math.floor((due - turns.begin) / turns.step));
    while (turnOf(turns, rank) < due) rank++;
    if (turnOf(turns, rank) !== due) return;
    this.ranks.add(rank);
    this.next.set(due, rank + 1);
  }
}

/**
 * The first rank of the `left` jobs still to come of `count`: they get the last free ranks, since those before them were moved,
 * ran or are gone.
 */
export function firstRank(count: number, left: number, taken: ReadonlySet<number>): number {
  let rank = count;
  for (let free = 0; free < left && rank > 0;) if (!taken.has(--rank)) free++;
  return rank;
}

/** Free ranks in ascending order. */
export function* freeRanks(first: number, taken: ReadonlySet<number>): Generator<number, never, undefined> {
  for (let rank = first; ; rank++) if (!taken.has(rank)) yield rank;
}

/** The same turns, later if that of the first rank has passed: so a late continuation is no burst. */
export function notBefore(turns: Turns, first: number, now: number): Turns {
  const late = Math.ceil(now) - turnOf(turns, first);
  return late > 0 ? { begin: turns.begin + late, step: turns.step } : turns;
}
