import { EventHub } from '../src/events/event-hub.js';
import type { DqEventMap, DqEventName } from '../src/events/events.js';

/** A hub that collects the errors of its listeners for specs. */
export class CollectingHub extends EventHub {
  /** Each as `who: message`. */
  readonly failures: string[];

  constructor(lateAfter = 1_000) {
    const failures: string[] = [];
    super({ lateAfter, listenerFailed: (who, { message }) => void failures.push(`${who}: ${message}`) });
    this.failures = failures;
  }

  /** Returns a list of all events of this name from now on. */
  collect<N extends DqEventName>(name: N): DqEventMap[N][] {
    const told: DqEventMap[N][] = [];
    this.on(name).subscribe((event) => told.push(event));
    return told;
  }
}
