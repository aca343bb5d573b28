import type { KqMessage } from '../api/received.js';
import type { RunSignal } from '../consumer/run-signal.js';
import type { Delivery } from '../consumer/topic-work.js';
import type { EventHub } from '../events/event-hub.js';
import type { KqEventMap } from '../events/events.js';
import type { Clock } from 'nest-handlers/time';
import { ReceivedMessage } from './received-message.js';
import type { Verdict } from './verdict.js';

/** A message on its way through a run. */
export interface Item {
  readonly delivery: Delivery;
  /** The value as the handler gets it; raw bytes if it can't be read. */
  readonly value: unknown;
  /** Signal of its run. */
  readonly run: RunSignal;
  /** Absent if it is handled, or no handler has had it yet. */
  verdict?: Verdict | undefined;
  /** The verdict of a message that can't be decoded right now; no run has started. */
  readonly waits?: Extract<Verdict, { kind: 'again' }>;
  /** The message its handler or a listener got. */
  message?: KqMessage;
}

export interface ItemEventsOptions {
  readonly group: string;
  readonly settings: { readonly attempts: number };
  readonly events: EventHub;
}

/** Events of a single message. */
type ItemEvent = 'failed' | 'failedLate' | 'died' | 'dropped' | 'held' | 'deferred' | 'notDeferred';

/** Emits the events of messages. Nothing is allocated without a listener. */
export class ItemEvents {
  constructor(
    private readonly clock: Clock,
    private readonly options: ItemEventsOptions,
  ) {}

  /** Returns the message, the same object for handlers and listeners. */
  messageOf(item: Item): KqMessage {
    const { delivery, value, run } = item;
    return (item.message ??= new ReceivedMessage(delivery, value, this.options.settings.attempts, run));
  }

  emit<N extends ItemEvent>(name: N, item: Item, facts: Omit<KqEventMap[N], 'message' | 'group'>): void {
    const { events, group } = this.options;
    if (!events.heard(name)) return;
    events.emit(name, { message: this.messageOf(item), group, ...facts } as unknown as KqEventMap[N]);
  }

  /** `begin`: clock time at which its run started. */
  handled(item: Item, begin: number): void {
    const { events, group } = this.options;
    if (item.run.isCut || !events.heard('handled')) return;
    const took = this.clock.now() - begin;
    const lateness = Math.max(0, this.clock.wall() - took - item.delivery.message.timestamp);
    events.emit('handled', { message: this.messageOf(item), group, took, lateness });
  }

  overran(items: readonly Item[]): void {
    const { events, group } = this.options;
    if (!events.heard('overran')) return;
    events.emit('overran', { messages: items.map((item) => this.messageOf(item)), group });
  }
}
