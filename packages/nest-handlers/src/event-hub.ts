import { Subject, type Observable } from 'rxjs';
import { detached } from './context.js';
import { GuardedObservable } from './guarded-observable.js';

/** What is particular to the events of one library. */
export interface EventHubOptions<Name> {
  /** Of all events. */
  readonly names: readonly Name[];
  /** `who` is for people: which listener failed, and at which event. Nothing else stops by it. */
  readonly listenerFailed: (who: string, thrown: unknown) => void;
  /** The error of a name that no event has. */
  readonly unknownName: (name: unknown, known: readonly Name[]) => Error;
}

/**
 * Brings events to their listeners, at once, and detached from whoever tells them. Most have none, so ask `heard` before you
 * make an event of an item.
 */
export class EventHub<Events extends object> {
  private readonly subjects: ReadonlyMap<keyof Events, Subject<any>>;

  constructor(private readonly hub: EventHubOptions<keyof Events>) {
    this.subjects = new Map(hub.names.map((name) => [name, new Subject()]));
  }

  /** Hot, and completes with `close`. What a subscriber throws or rejects with is told to `listenerFailed`. Throws `unknownName`. */
  on<N extends keyof Events>(name: N): Observable<Events[N]> {
    return this.guarded(name, `a subscriber of \`${String(name)}\``);
  }

  /** Adds a listener that has a name, for messages. Throws `unknownName`. */
  listen<N extends keyof Events>(name: N, listener: (event: Events[N]) => unknown, who: string): void {
    this.guarded(name, `${who} at \`${String(name)}\``).subscribe(listener);
  }

  /** Whether anybody listens. */
  heard(name: keyof Events): boolean {
    return this.subjects.get(name)!.observed;
  }

  /** Calls the listeners, in the order in which they came. */
  tell<N extends keyof Events>(name: N, event: Events[N]): void {
    const subject = this.subjects.get(name)!;
    if (subject.observed) subject.next(event);
  }

  /** Tells nothing any more, and completes all observables. Idempotent. */
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
