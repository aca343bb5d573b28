import { EventHub as Hub } from 'nest-handlers/events';
import { show, toError, unknownName } from '../errors.js';
import type { KqEventMap, KqEventName, KqEvents } from './events.js';

/** All event names; the documentation is checked against them. */
export const EVENT_NAMES = Object.keys({
  handled: true,
  failed: true,
  failedLate: true,
  died: true,
  dropped: true,
  held: true,
  deferred: true,
  notDeferred: true,
  overran: true,
  stalled: true,
  skipped: true,
  groupJoined: true,
  groupLeft: true,
  rebalanced: true,
  overlapped: true,
  unavailable: true,
  commitFailed: true,
  pushed: true,
  pushFailed: true,
} satisfies Record<KqEventName, true>) as KqEventName[];

/** Delivers events to listeners. Most events have none, so check `heard` before building the event of a message. */
export class EventHub extends Hub<KqEventMap> implements KqEvents {
  /** `who` is for people: the listener that failed, and the event. */
  constructor(listenerFailed: (who: string, error: Error) => void) {
    super({
      names: EVENT_NAMES,
      listenerFailed: (who, thrown) => listenerFailed(who, toError(thrown)),
      unknownName: (name, known) => unknownName('KQ_BAD_OPTION', `event ${show(name)}`, known),
    });
  }
}
