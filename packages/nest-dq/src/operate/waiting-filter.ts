import type { Duration, When } from 'nest-handlers/time';
import { wrongValue } from '../errors.js';
import type { WaitingJob } from '../ledger/waiting/waiting-jobs.js';
import { checkObject } from '../producer/call-options.js';
import { dueAgain, dueAt, type Due } from '../producer/due.js';
import { parseDuration } from '../time/duration.js';
import { checkLimit, stateOf, type BulkLimit } from './bulk.js';
import { checkRange } from './letter-filter.js';
import type { Spread } from './spread.js';

/** Selects waiting jobs of a tube that match all given fields; `{}` selects all. */
export interface WaitingFilter extends BulkLimit {
  /** Jobs due at this time or later; for a job waiting for a retry, the time of the retry counts. */
  dueFrom?: When;
  /** Jobs due before this time. */
  dueTo?: When;
  /** `retrying`: jobs waiting after a run that failed or was cut short; `waiting`: all others. */
  state?: 'waiting' | 'retrying';
}

/** Ledger times in ms. */
export interface CheckedWaitingFilter extends BulkLimit {
  readonly from: number;
  readonly to: number | undefined;
  readonly matches: (job: WaitingJob) => boolean;
}

/** New due time of jobs: a time, a delay from now, later or earlier than each was due, or spread. */
export type NewTime =
  | When
  | { readonly delay: Duration }
  | { readonly later: Duration }
  | { readonly earlier: Duration }
  | Spread;

/** A new time that doesn't depend on other jobs. */
type SingleTime = Exclude<NewTime, Spread>;

/** Throws `DQ_BAD_OPTION`, `DQ_BAD_TIME`. */
export function checkWaitingFilter(filter: WaitingFilter): CheckedWaitingFilter {
  if (filter === undefined)
    throw wrongValue('DQ_BAD_OPTION', 'the filter', filter, 'an object; {} matches all waiting jobs');
  const names = ['dueFrom', 'dueTo', 'state', 'limit'] as const;
  const { state, limit, ...times } = checkObject('the filter', filter, names);
  if (state !== undefined && state !== 'waiting' && state !== 'retrying')
    throw wrongValue('DQ_BAD_OPTION', '`state`', state, '"waiting" or "retrying"');
  checkLimit(limit);
  const [from, to] = checkRange(times, 'dueFrom', 'dueTo');
  const matches = ({ attempt }: WaitingJob) => state === undefined || state === stateOf(attempt);
  return { from, to, matches, limit };
}

/**
 * Returns the new time of a job by its due time. A shift into the past means now. Throws `DQ_BAD_TIME`, `DQ_BAD_DURATION`,
 * `DQ_BAD_OPTION`; the result may throw `DQ_PAST_TIME` and `DQ_TOO_FAR`.
 */
export function checkNewTime(when: SingleTime): (due: number) => Due {
  const shift = shiftOf(when);
  if (shift !== undefined) return (due) => dueAt(Math.max(0, due + shift), true);
  const due = dueAgain(when as When | { readonly delay: Duration }, false);
  return () => due;
}

/** The shift in ms; undefined if it isn't a shift. */
function shiftOf(when: SingleTime): number | undefined {
  if (typeof when !== 'object' || when === null) return undefined;
  if ('later' in when) return parseDuration(checkObject('the new time', when, ['later']).later, '`later`');
  if ('earlier' in when)
    return -parseDuration(checkObject('the new time', when, ['earlier']).earlier, '`earlier`');
  return undefined;
}
