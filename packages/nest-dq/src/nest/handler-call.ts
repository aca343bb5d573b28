import { types } from 'node:util';
import { isObservable, tap } from 'rxjs';
import { isOutcome } from '../consumer/run/outcome.js';
import type { Outcome } from '../api/job.js';

/** What a handler itself came to in one run, whatever interceptors make of that. */
export class HandlerCall {
  /** It has returned; one with an Observable: it has given a value. */
  returned = false;
  private outcome: Outcome | undefined;
  private readonly running = new Set<Promise<unknown>>();

  /** Runs the pipes, and then the handler. An interceptor may do so again: then the last time counts. */
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

  /** What becomes of the job: an Outcome is not lost where an interceptor wraps or serializes all that it gets. */
  resultOf(result: unknown): unknown {
    const isReal = isOutcome(result) && types.isNativeError(result);
    return isReal ? result : (this.outcome ?? result);
  }

  /** Settles when the handler has ended, and never rejects; undefined: it has. */
  get unfinished(): Promise<unknown> | undefined {
    return this.running.size > 0 ? Promise.allSettled(this.running) : undefined;
  }

  private hear(value: unknown): unknown {
    this.returned = true;
    this.outcome = isOutcome(value) ? value : undefined;
    return value;
  }

  private forget(): void {
    this.returned = false;
    this.outcome = undefined;
  }
}
