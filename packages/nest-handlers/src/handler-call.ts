import { types } from 'node:util';
import { isObservable, tap } from 'rxjs';
import type { HandlerKind } from './handler-kind.js';

/** One call of a handler: its own result, before interceptors changed it, and whether it still runs. */
export class HandlerCall {
  /** The handler has returned. If it returned an Observable, that has given a value. */
  returned = false;
  /** The guards have let it pass. */
  admitted = false;
  private outcome: unknown;
  private readonly running = new Set<Promise<unknown>>();

  constructor(private readonly kind: HandlerKind) {}

  /** Runs the pipes, and then the handler. If an interceptor calls it again, the last call counts. */
  async run(next: () => Promise<unknown>): Promise<unknown> {
    this.forget();
    const running = next();
    this.running.add(running);
    try {
      const value = await running;
      if (!isObservable(value)) return this.hear(value);
      return value.pipe(tap({ next: (each) => this.hear(each), error: () => this.forget() }));
    } finally {
      this.running.delete(running);
    }
  }

  /** The result that counts: an outcome counts even where an interceptor wraps or serializes it. */
  resultOf(result: unknown): unknown {
    const isReal = this.kind.isOutcome(result) && types.isNativeError(result);
    return isReal ? result : (this.outcome ?? result);
  }

  /** Settles when the handler has ended, and never rejects; undefined: it has ended. */
  get unfinished(): Promise<unknown> | undefined {
    return this.running.size > 0 ? Promise.allSettled(this.running) : undefined;
  }

  private hear(value: unknown): unknown {
    this.returned = true;
    this.outcome = this.kind.isOutcome(value) ? value : undefined;
    return value;
  }

  private forget(): void {
    this.returned = false;
    this.outcome = undefined;
  }
}
