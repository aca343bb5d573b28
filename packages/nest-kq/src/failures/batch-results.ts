/** What a handler of batches returned, by message. */
import { types } from 'node:util';
import { isOutcome } from '../api/outcome.js';
import { KqError } from '../errors.js';

/** A run of a message failed by it: an error, or an outcome. */
export interface Failed {
  readonly thrown: unknown;
}

/**
 * An outcome is meant for all messages. In an array, an outcome or an Error is meant for the message in its place; what
 * `Promise.allSettled` resolves with is understood as well. Anything else means that all are handled.
 */
export function batchResults(returned: unknown, count: number): readonly (Failed | undefined)[] {
  if (isOutcome(returned)) return alike({ thrown: returned }, count);
  if (!Array.isArray(returned)) return alike(undefined, count);
  const results = returned.every(isSettled) ? returned.map(ofSettled) : returned.map(failedOf);
  if (results.length === count) return results;
  // Which of them failed is not known.
  if (results.every((each) => each === undefined)) return alike(undefined, count);
  const fact = `the handler gave ${results.length} results: expected one for each of ${count} messages`;
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

/** With these fields and no others, as an application's own results may have some of them. */
function isSettled(each: unknown): each is PromiseSettledResult<unknown> {
  if (typeof each !== 'object' || each === null || !('status' in each)) return false;
  const fields = Object.keys(each).toSorted().join();
  return each.status === 'fulfilled'
    ? fields === 'status,value'
    : each.status === 'rejected' && fields === 'reason,status';
}
