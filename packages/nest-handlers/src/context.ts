/**
 * The environment of a run of user code: its AsyncLocalStorage context, its signal, and what its result means. Doesn't load Nest.
 * @module nest-handlers/context
 */
import { AsyncResource } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import { types } from 'node:util';

export { batchResults, type BatchKind, type ItemResult } from './batch-results.js';

/** The context in which this module was loaded. No user code ever runs in it, so no store can be entered into it. */
const root = new AsyncResource('nest-handlers');
const scope = (): AsyncResource => new AsyncResource('nest-handlers');

/**
 * Runs `work` isolated from the caller: it sees no stores of the caller's AsyncLocalStorages, nothing it starts keeps them alive,
 * and stores it enters (`enterWith`) end with it. Returns the result of `work`.
 */
export function detached<T>(work: () => T): T {
  // A scope per call: in Node 20 and 22, `enterWith` writes into the scope itself.
  return root.runInAsyncScope(scope).runInAsyncScope(work);
}

/**
 * Returns what is wrong with a result that counts as success but can only be a mistake: a generator, whose body has not run; an
 * Error that should have been thrown; an outcome class that should have been constructed. Undefined if nothing is wrong.
 * @param outcomes Names of the outcome classes.
 */
export function wrongResult(result: unknown, outcomes: readonly string[]): string | undefined {
  if (typeof result === 'function') {
    const isOutcomes = outcomes.includes(result.name) && result.prototype instanceof Error;
    return isOutcomes ? `the class ${result.name}: expected the result of one of its methods` : undefined;
  }
  if (typeof result !== 'object' || result === null) return undefined;
  if (types.isNativeError(result) || result instanceof Error)
    return `an error, treated as thrown: ${result.message}`;
  return isGenerator(result)
    ? 'a generator, none of which has run: expected an async method without *'
    : undefined;
}

/** Whether it is a promise from any realm or library, including a query that runs only when awaited. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
}

/** Whether it is a generator, even one compiled for older versions of JavaScript. */
function isGenerator(value: object): boolean {
  if (types.isGeneratorObject(value)) return true;
  const { next, throw: fail } = value as { next?: unknown; throw?: unknown };
  return typeof next === 'function' && typeof fail === 'function' && Symbol.asyncIterator in value;
}

/** The signal of one run, which lives as long as the run. Accepts any number of listeners, which run detached. */
export class RunSignal {
  private controller: AbortController | undefined;

  /** Created on first use: few handlers look at their signal, and it is the largest part of a run. */
  get signal(): AbortSignal {
    return this.made.signal;
  }

  /** Aborts the signal. Only the first call counts. */
  abort(reason?: unknown): void {
    const { made } = this;
    detached(() => made.abort(reason));
  }

  /** Whether it has been aborted. Cheaper than the signal, which this doesn't create. */
  get aborted(): boolean {
    return this.controller?.signal.aborted === true;
  }

  private get made(): AbortController {
    if (!this.controller) {
      this.controller = new AbortController();
      setMaxListeners(0, this.controller.signal); // a handler may pass it to many calls
    }
    return this.controller;
  }
}
