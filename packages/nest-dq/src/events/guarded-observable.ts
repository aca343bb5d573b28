import {
  Observable,
  Subscriber,
  type Observer,
  type Operator,
  type Subscription,
  type TeardownLogic,
} from 'rxjs';
import { toError } from '../errors.js';
import { isThenable } from '../structures/thenable.js';

/** Gets the error that a listener threw or rejected with. */
type ListenerFailed = (error: Error) => void;

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
        observer.error ? guarded(() => observer.error!(thrown), failed) : failed(toError(thrown)),
      complete: () => guarded(() => observer.complete?.(), failed),
    });
  }
}

/** Calls a listener, and reports what it throws or rejects with. */
function guarded(listener: () => unknown, failed: ListenerFailed): void {
  const tell = (thrown: unknown) => failed(toError(thrown));
  try {
    const result = listener();
    if (isThenable(result)) result.then(undefined, tell);
  } catch (thrown) {
    tell(thrown);
  }
}
