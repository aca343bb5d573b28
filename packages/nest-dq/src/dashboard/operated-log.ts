import { show } from '../errors.js';
import type { DqEvents, Operated } from '../events/events.js';
import { systemClock } from '../time/clock.js';
import { errorWire } from './failures.js';

const MOST = 200;

/** What operators did, as this process saw it; the newest first. */
export class OperatedLog {
  private readonly acts: object[] = [];

  /** Until the events complete. */
  listen(events: DqEvents): void {
    events.on('operated').subscribe((act) => {
      this.acts.unshift(shown(act));
      this.acts.splice(MOST);
    });
  }

  all(): readonly object[] {
    return this.acts;
  }
}

/** As JSON can hold it: what an application gave to an act may be anything. */
function shown({ on, error, ...rest }: Operated): object {
  const at = new Date(systemClock.wall()).toISOString();
  return { ...rest, at, on: inJson(on), ...(error && { error: errorWire(error) }) };
}

function inJson(on: object): unknown {
  try {
    return JSON.parse(JSON.stringify(on));
  } catch {
    return { change: show(on) }; // a cycle, or a number that JSON does not have: a text must do
  }
}
