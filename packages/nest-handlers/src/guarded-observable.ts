import {
  Observable,
  Subscriber,
  type Observer,
  type Operator,
  type Subscription,
  type TeardownLogic,
} from 'rxjs';

/** Receives what a listener threw or rejected with. */
type ListenerFailed = (thrown: unknown) => void;

/**
 * RxJS rethrows a subscriber's error where nothing can catch it, which crashes the process. This class reports such errors
 * instead, as well as rejections and errors that no subscriber handles, even after operators.
 */
export class GuardedObservable<T> extends Observable<T> {
  constructor(
    begin: (subscriber: Subscriber<T>) => TeardownLogic,
    private readonly failed: ListenerFailed,
  ) {
    super(begin);
  }

  /** Guards observables derived by operators, too. */
  override lift<R>(operator: Operator<T, R>): Observable<R> {
    return new GuardedObservable<R>(
      (subscriber) => operator.call(subscriber, this) as TeardownLogic,
      this.failed,
    );
  }

  override subscribe(
    observerOrNext?: Partial<Observer<T>> | ((value: T) => void) | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // An operator's subscriber: its errors reach the observable the operator created.
    if (observerOrNext instanceof Subscriber) return super.subscribe(observerOrNext);
    const observer: Partial<Observer<T>> =
      typeof observerOrNext === 'object' && observerOrNext !== null
        ? observerOrNext
        : { next: observerOrNext ?? undefined, error: error ?? undefined, complete: complete ?? undefined };
    const { failed } = this;
    return super.subscribe({
      next: (value) => guarded(() => observer.next?.(value), failed),
      error: (thrown: unknown) =>
        observer.error ? guarded(() => observer.error!(thrown), failed) : failed(thrown),
      complete: () => guarded(() => observer.complete?.(), failed),
    });
  }
}

/** Calls a listener, and reports what it throws or rejects with. */
function guarded(listener: () => unknown, failed: ListenerFailed): void {
  try {
    const result = listener() as PromiseLike<unknown> | undefined;
    if (typeof result?.then === 'function') result.then(undefined, failed);
  } catch (thrown) {
    failed(thrown);
  }
}
