/** The per-message results of a batch handler. */
import { types } from 'node:util';
import { isOutcome } from '../api/outcome.js';
import { KqError } from '../errors.js';

/** A message failed, with an error or an outcome. */
export interface Failed {
  readonly thrown: unknown;
}

/**
 * Returns a result per message. A single outcome applies to all messages. In an array, an outcome or an Error applies to the
 * message at its index; results of `Promise.allSettled` are understood, too. Anything else means all are handled.
 */
export function batchResults(returned: unknown, count: number): readonly (Failed | undefined)[] {
  if (isOutcome(returned)) return alike({ thrown: returned }, count);
  if (!Array.isArray(returned)) return alike(undefined, count);
  const results = returned.every(isSettled) ? returned.map(ofSettled) : returned.map(failedOf);
  if (results.length === count) return results;
  // It is unknown which of them failed.
  if (results.every((each) => each === undefined)) return alike(undefined, count);
  const fact = `the handler returned ${results.length} results: expected one for each of ${count} messages`;
  return alike({ thrown: new KqError('KQ_BAD_OPTION', fact) }, count);
}

export function alike<T>(result: T, count: number): readonly T[] {
  return Array.from({ length: count }, () => result);
}

function ofSettled(each: PromiseSettledResult<unknown>): Failed | undefined {
  return each.status === 'rejected' ? { thrown: each.reason } : failedOf(each.value);
}

function failedOf(result: unknown): Failed | undefined {
  const failed = isOutcome(result) || result instanceof Error || types.isNativeError(result);
  return failed ? { thrown: result } : undefined;
}

/** Matches exactly these fields, since an application's own results may have some of them. */
function isSettled(each: unknown): each is PromiseSettledResult<unknown> {
  if (typeof each !== 'object' || each === null || !('status' in each)) return false;
  const fields = Object.keys(each).toSorted().join();
  return each.status === 'fulfilled'
    ? fields === 'status,value'
    : each.status === 'rejected' && fields === 'reason,status';
}
