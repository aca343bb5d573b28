import { showInstant, span, type Clock, type Duration, type FromNow, type When } from 'nest-handlers/time';
import type { StoredTube } from '../api/tube.js';
import { LONGEST_DELAY_S } from '../copies/timing.js';
import { DqError, wrongValue } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import { withinLimit } from '../time/call-limit.js';
import { parseDuration } from '../time/duration.js';
import { parseWhen } from '../time/instant.js';
import { checkObject } from './call-options.js';

/** Returns the due time for a call at ledger time `now`; both in whole ms. `DQ_PAST_TIME`, `DQ_TOO_FAR`. */
export type Due = (now: number) => number;

/** How far in the past a time may be, in ms. Without this tolerance, `at(…, new Date())` would always be in the past. */
const PAST_TOLERANCE = 1_000;

export const dueNow: Due = (now) => Math.floor(now);

/** Returns the due time after a delay. `DQ_BAD_DURATION`. */
export function dueAfter(delay: Duration): Due {
  const ms = parseDuration(delay, 'the delay');
  return (now) => Math.ceil(now + ms);
}

const BY_DELAY: FromNow = (given) => `delay(tube, payload, ${given})`;

/** Returns a given time as due time. `fromNow`: how to pass a time relative to now instead, for the error. `DQ_BAD_TIME`. */
export function dueAt(when: When, allowPast: boolean, fromNow = BY_DELAY): Due {
  const instant = parseWhen(when, fromNow);
  return (now) => {
    if (instant < now - PAST_TOLERANCE && !allowPast) {
      throw new DqError(
        'DQ_PAST_TIME',
        `the time is ${showInstant(instant)}, ${span(now - instant)} ago: ` +
          'expected a time in the future; `allowPast: true` runs the job now',
      );
    }
    if (instant - now > LONGEST_DELAY_S * 1000) {
      const last = showInstant(now + LONGEST_DELAY_S * 1000);
      throw new DqError('DQ_TOO_FAR', `the time is ${showInstant(instant)}: expected ${last} or sooner`);
    }
    return instant < now - PAST_TOLERANCE ? Math.floor(now) : instant;
  };
}

/** Returns the due time of a reschedule. `DQ_BAD_TIME`, `DQ_BAD_DURATION`. */
export function dueAgain(when: When | { readonly delay: Duration }, allowPast: boolean): Due {
  if (typeof when === 'string') {
    throw wrongValue('DQ_BAD_TIME', 'the new time', when, "a point in time, or { delay: '15m' }");
  }
  return isDelay(when)
    ? dueAfter(checkObject('the new time', when, ['delay']).delay)
    : dueAt(when, allowPast, (given) => `{ delay: ${given} }`);
}

function isDelay(when: When | { readonly delay: Duration }): when is { readonly delay: Duration } {
  return typeof when === 'object' && when !== null && 'delay' in when;
}

/** How long a tube's first add waits for ledger time. */
const TIME_LIMIT_MS = 500;
/** Max number of known tubes. Beyond it, the set is cleared, and each tube is asked again, which is quick. */
const MAX_KNOWN = 1_000;

/** Computes due times in ledger time. The first call of each tube waits briefly for it to be read. */
export class DueTimes {
  private readonly known = new Set<StoredTube>();
  private readonly asked = new Map<StoredTube, Promise<void>>();

  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
  ) {}

  /** Returns undefined if there is no need to wait. */
  ready(tube: StoredTube): Promise<void> | undefined {
    return this.known.has(tube) ? undefined : (this.asked.get(tube) ?? this.learn(tube));
  }

  /** Returns when a job is due, in ledger time in ms; `due` counts from `calledAt`, in clock time. Throws as `due` does. */
  of(tube: StoredTube, due: Due, calledAt: number): number {
    return due(this.ledger.tube(tube).now() - (this.clock.now() - calledAt));
  }

  private learn(tube: StoredTube): Promise<void> {
    const go = () => {
      if (this.known.size >= MAX_KNOWN) this.known.clear();
      this.known.add(tube);
      this.asked.delete(tube);
    };
    // If it can't be read in time, fall back to the local clock.
    const learnt = withinLimit(this.clock, TIME_LIMIT_MS, this.ledger.tube(tube).readTime()).then(go, go);
    this.asked.set(tube, learnt);
    return learnt;
  }
}
