import { readShaped, type Shape } from '../ledger/foreign-json.js';
import type { TubeLimits } from '../api/limit-options.js';

/** What an operator changed about a tube's handlers at run time. What is absent is as the handler has it. */
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

/** What is stored under each tube is checked by `isChange`. */
const STORED: Shape = { values: { fields: {} } };

/** Parses what the ledger stores. What another program wrote is left out, and `foreign`. */
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
