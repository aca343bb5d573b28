import { EventHub } from '../src/events/event-hub.js';
import type { DqEventMap, DqEventName } from '../src/events/events.js';

/** A hub that keeps what its listeners failed with, for specs to look at. */
export class CollectingHub extends EventHub {
  /** `who: message`, each. */
  readonly failures: string[];

  constructor(lateAfter = 1_000) {
    const failures: string[] = [];
    super({ lateAfter, listenerFailed: (who, { message }) => void failures.push(`${who}: ${message}`) });
    this.failures = failures;
  }

  /** All that is told of one kind from now on. */
  collect<N extends DqEventName>(name: N): DqEventMap[N][] {
    const told: DqEventMap[N][] = [];
    this.on(name).subscribe((event) => told.push(event));
    return told;
  }
}
