import { showInstant, type Clock, type Duration, type FromNow, type When } from 'nest-handlers/time';
import type { StoredTube } from '../api/tube.js';
import { LONGEST_DELAY } from '../copies/timing.js';
import { DqError, wrongValue } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import { withinLimit } from '../time/call-limit.js';
import { parseDuration } from '../time/duration.js';
import { parseWhen } from '../time/instant.js';
import { checkObject } from './call-options.js';

/** Makes the due time from ledger time at the call; both in whole ms. `DQ_PAST_TIME`, `DQ_TOO_FAR`. */
export type Due = (now: number) => number;

/** Milliseconds. `at(…, new Date())` would otherwise always be in the past. */
const PAST_TOLERANCE = 1_000;

export const dueNow: Due = (now) => Math.floor(now);

/** `DQ_BAD_DURATION`. */
export function dueAfter(delay: Duration): Due {
  const ms = parseDuration(delay, 'the delay');
  return (now) => Math.ceil(now + ms);
}

const BY_DELAY: FromNow = (given) => `delay(tube, payload, ${given})`;

/** `DQ_BAD_TIME`. `fromNow`: how the call takes a time from now. */
export function dueAt(when: When, allowPast: boolean, fromNow = BY_DELAY): Due {
  const instant = parseWhen(when, fromNow);
  return (now) => {
    if (instant < now - PAST_TOLERANCE && !allowPast) {
      throw new DqError(
        'DQ_PAST_TIME',
        `the instant is ${showInstant(instant)}, ${Math.round(now - instant)} ms ago: ` +
          'expected an instant in the future; `allowPast: true` runs the job now',
      );
    }
    if (instant - now > LONGEST_DELAY * 1000) {
      const last = showInstant(now + LONGEST_DELAY * 1000);
      throw new DqError('DQ_TOO_FAR', `the instant is ${showInstant(instant)}: expected ${last} or sooner`);
    }
    return instant < now - PAST_TOLERANCE ? Math.floor(now) : instant;
  };
}

/** For a reschedule. `DQ_BAD_TIME`, `DQ_BAD_DURATION`. */
export function dueAgain(when: When | { readonly delay: Duration }, allowPast: boolean): Due {
  if (typeof when === 'string') {
    throw wrongValue('DQ_BAD_TIME', 'the new time', when, "an instant, or { delay: '15m' }");
  }
  return isDelay(when)
    ? dueAfter(checkObject('the new time', when, ['delay']).delay)
    : dueAt(when, allowPast, (given) => `{ delay: ${given} }`);
}

function isDelay(when: When | { readonly delay: Duration }): when is { readonly delay: Duration } {
  return typeof when === 'object' && when !== null && 'delay' in when;
}

/** Milliseconds. How long a first add waits for ledger time. */
const TIME_LIMIT = 500;
/** Tubes. With more, all are asked for once more, and are answered at once. */
const MOST_KNOWN = 1_000;

/** Due times in ledger time. The first call of each tube waits a little until that was read. */
export class DueTimes {
  private readonly known = new Set<StoredTube>();
  private readonly asked = new Map<StoredTube, Promise<void>>();

  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
  ) {}

  /** Undefined: no wait is needed. */
  learning(tube: StoredTube): Promise<void> | undefined {
    return this.known.has(tube) ? undefined : (this.asked.get(tube) ?? this.learn(tube));
  }

  /** When a job is due, in ledger time, ms: `due` counts from the time of the call, by the clock. Throws as `due` does. */
  of(tube: StoredTube, due: Due, calledAt: number): number {
    return due(this.ledger.tube(tube).now() - (this.clock.now() - calledAt));
  }

  private learn(tube: StoredTube): Promise<void> {
    const go = () => {
      if (this.known.size >= MOST_KNOWN) this.known.clear();
      this.known.add(tube);
      this.asked.delete(tube);
    };
    // If it was not read by then, the machine's clock must serve.
    const learnt = withinLimit(this.clock, TIME_LIMIT, this.ledger.tube(tube).readTime()).then(go, go);
    this.asked.set(tube, learnt);
    return learnt;
  }
}
