import { readShaped, type Shape } from '../ledger/foreign-json.js';
import type { TubeLimits } from '../api/limit-options.js';

/** A change of the limits of a tube at run time, by an operator. Anything absent is as its handlers have it. */
export interface LimitChange {
  /** Max concurrent runs in each process. */
  readonly concurrency?: number;
  readonly limit?: TubeLimits;
  /** Ledger time, in ms, at which the change ends. Absent if it has no end. */
  readonly until?: number;
}

/** The changes that hold now, by tube without the prefix. */
export type LimitChanges = ReadonlyMap<string, LimitChange>;

/** Max changed tubes of a prefix. */
export const MAX_LIMIT_CHANGES = 1_000;

/** The value of each tube is checked by `isChange`. */
const STORED: Shape = { values: { fields: {} } };

/** Parses what the ledger stores. `foreign`: whether another program wrote some of it, which is left out. */
export function parseChanges(json: string): { readonly changes: LimitChanges; readonly foreign: boolean } {
  const stored = json === '' ? {} : readShaped<Readonly<Record<string, LimitChange>>>(json, STORED);
  const all = Object.entries(stored ?? {});
  const valid = all.filter(([, change]) => isChange(change));
  return { changes: new Map(valid), foreign: !stored || valid.length < all.length };
}

export function changesAt(changes: LimitChanges, now: number): LimitChanges {
  return new Map([...changes].filter(([, { until = Infinity }]) => until > now));
}

function isChange({ concurrency, limit = {}, until }: LimitChange): boolean {
  if (typeof limit !== 'object' || limit === null) return false;
  const { rate, per, burst } = limit;
  const rated = [rate, per, burst].filter((each) => each !== undefined).length;
  const numbers = [concurrency, until, ...Object.values(limit)].filter((each) => each !== undefined);
  return rated % 3 === 0 && numbers.every((each) => Number.isSafeInteger(each) && each > 0);
}
