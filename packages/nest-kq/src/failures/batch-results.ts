/** The per-message results of a batch handler. */
import { batchResults as resultsOf, type BatchKind } from 'nest-handlers/context';
import { isOutcome } from '../api/outcome.js';
import { KqError } from '../errors.js';

/** A message failed, with an error or an outcome. */
export interface Failed {
  readonly thrown: unknown;
}

const MESSAGES: BatchKind = {
  items: 'messages',
  isOutcome,
  mismatch: (fact) => new KqError('KQ_BAD_OPTION', fact),
};

/** Returns the failure of each message; undefined if it was handled. */
export function batchResults(returned: unknown, count: number): readonly (Failed | undefined)[] {
  return resultsOf(returned, count, MESSAGES).map((each) => ('thrown' in each ? each : undefined));
}

export function alike<T>(result: T, count: number): readonly T[] {
  return Array.from({ length: count }, () => result);
}
