import { types } from 'node:util';
import { isObservable, tap } from 'rxjs';
import type { HandlerKind } from './handler-kind.js';

/** One call of a handler: its own result, before interceptors changed it, and whether it is still running. */
export class HandlerCall {
  /** Whether the handler has returned. If it returned an Observable, whether that has emitted a value. */
  returned = false;
  /** Whether the guards have let it pass. */
  admitted = false;
  private outcome: unknown;
  private readonly running = new Set<Promise<unknown>>();

  constructor(private readonly kind: HandlerKind) {}

  /** Runs the pipes, then the handler. If an interceptor calls it again, the last call counts. */
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

  /** Returns the result that counts: the handler's outcome wins even if an interceptor wraps or serializes it. */
  resultOf(result: unknown): unknown {
    const isReal = this.kind.isOutcome(result) && types.isNativeError(result);
    return isReal ? result : (this.outcome ?? result);
  }

  /** Resolves when the handler has ended, and never rejects; undefined if it has already ended. */
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
