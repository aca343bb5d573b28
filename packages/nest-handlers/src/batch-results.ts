import { types } from 'node:util';

/** The result of one item of a batch, or its failure: an error or an outcome. */
export type ItemResult = { readonly value: unknown } | { readonly thrown: unknown };

const DONE: ItemResult = { value: undefined };

/** The differences between libraries. */
export interface BatchKind {
  /** Name of the items, for messages: `'jobs'`. */
  readonly items: string;
  /** Whether a returned or thrown value is an outcome of an item. */
  isOutcome(value: unknown): boolean;
  /** Returns the error for an array with too few or too many results. */
  mismatch(fact: string): Error;
}

/**
 * Returns a result per item of a batch. A single outcome applies to all items. In an array, an outcome or an Error applies to the
 * item at its index; results of `Promise.allSettled` are understood, too. Anything else means all are done.
 */
export function batchResults(returned: unknown, count: number, kind: BatchKind): readonly ItemResult[] {
  if (kind.isOutcome(returned)) return alike({ thrown: returned }, count);
  if (!Array.isArray(returned)) return alike(DONE, count);
  const settled = returned.length > 0 && returned.every(isSettled);
  const results = returned.map((each) => (settled ? ofSettled(each, kind) : resultOf(each, kind)));
  if (results.length === count) return results;
  // It is unknown which of them failed.
  if (!results.some((each) => 'thrown' in each)) return alike(DONE, count);
  const fact = `the handler returned ${results.length} results: expected one for each of ${count} ${kind.items}`;
  return alike({ thrown: kind.mismatch(fact) }, count);
}

function alike(result: ItemResult, count: number): readonly ItemResult[] {
  return Array.from({ length: count }, () => result);
}

function ofSettled(each: PromiseSettledResult<unknown>, kind: BatchKind): ItemResult {
  return each.status === 'rejected' ? { thrown: each.reason } : resultOf(each.value, kind);
}

function resultOf(value: unknown, kind: BatchKind): ItemResult {
  const failed = kind.isOutcome(value) || value instanceof Error || types.isNativeError(value);
  return failed ? { thrown: value } : { value };
}

/** Matches exactly these fields, since an application's own results may have some of them. */
function isSettled(each: unknown): each is PromiseSettledResult<unknown> {
  if (typeof each !== 'object' || each === null || !('status' in each)) return false;
  const fields = Object.keys(each).toSorted().join();
  return each.status === 'fulfilled'
    ? fields === 'status,value'
    : each.status === 'rejected' && fields === 'reason,status';
}
