import {
  Observable,
  Subscriber,
  type Observer,
  type Operator,
  type Subscription,
  type TeardownLogic,
} from 'rxjs';

/** Gets what a listener threw or rejected with. */
type ListenerFailed = (thrown: unknown) => void;

/**
 * rxjs rethrows the error of a subscriber where nobody can catch it, and that ends the process. Here such errors are
 * reported, and so are rejections and errors that no subscriber takes, also behind operators.
 */
export class GuardedObservable<T> extends Observable<T> {
  constructor(
    begin: (subscriber: Subscriber<T>) => TeardownLogic,
    private readonly failed: ListenerFailed,
  ) {
    super(begin);
  }

  /** What operators make of this is guarded too. */
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
    // The subscriber of an operator: its errors reach the observable that the operator made.
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
