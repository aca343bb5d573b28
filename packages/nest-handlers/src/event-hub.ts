import { Subject, type Observable } from 'rxjs';
import { detached } from './context.js';
import { GuardedObservable } from './guarded-observable.js';

/** Library-specific parts of events. */
export interface EventHubOptions<Name> {
  /** All event names. */
  readonly names: readonly Name[];
  /** Reports a failed listener; nothing else stops. `who` names the listener and the event, for messages. */
  readonly listenerFailed: (who: string, thrown: unknown) => void;
  /** Returns the error for an unknown event name. */
  readonly unknownName: (name: unknown, known: readonly Name[]) => Error;
}

/**
 * Delivers events to their listeners synchronously, detached from the emitter. Most events have no listeners, so check `heard`
 * before building the event of an item.
 */
export class EventHub<Events extends object> {
  private readonly subjects: ReadonlyMap<keyof Events, Subject<any>>;

  constructor(private readonly hub: EventHubOptions<keyof Events>) {
    this.subjects = new Map(hub.names.map((name) => [name, new Subject()]));
  }

  /**
   * Returns a hot observable that completes on `close`. A subscriber's errors and rejections go to `listenerFailed`. Throws
   * `unknownName`.
   */
  on<N extends keyof Events>(name: N): Observable<Events[N]> {
    return this.guarded(name, `a subscriber of \`${String(name)}\``);
  }

  /** Adds a named listener; the name is for messages. Throws `unknownName`. */
  listen<N extends keyof Events>(name: N, listener: (event: Events[N]) => unknown, who: string): void {
    this.guarded(name, `${who} at \`${String(name)}\``).subscribe(listener);
  }

  /** Whether the event has listeners. */
  heard(name: keyof Events): boolean {
    return this.subjects.get(name)!.observed;
  }

  /** Calls the listeners in the order they were added. */
  emit<N extends keyof Events>(name: N, event: Events[N]): void {
    const subject = this.subjects.get(name)!;
    if (subject.observed) subject.next(event);
  }

  /** Stops emitting and completes all observables. Idempotent. */
  close(): void {
    for (const subject of this.subjects.values()) subject.complete();
  }

  private guarded<N extends keyof Events>(name: N, who: string): Observable<Events[N]> {
    const subject: Subject<Events[N]> | undefined = this.subjects.get(name);
    if (!subject) throw this.hub.unknownName(name, this.hub.names);
    const failed = (thrown: unknown) => this.hub.listenerFailed(who, thrown);
    return new GuardedObservable(
      (subscriber) =>
        subject.subscribe({
          next: (event) => detached(() => subscriber.next(event)),
          complete: () => subscriber.complete(),
        }),
      failed,
    );
  }
}
