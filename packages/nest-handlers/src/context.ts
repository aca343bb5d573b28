/**
 * What surrounds a run of users' code: its context of AsyncLocalStorage, and its signal. It loads nothing of Nest.
 * @module nest-handlers/context
 */
import { AsyncResource } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import { types } from 'node:util';

/** The context in which this module was loaded. No code of users ever runs in it, so nothing can be entered into it. */
const root = new AsyncResource('nest-handlers');
const scope = (): AsyncResource => new AsyncResource('nest-handlers');

/**
 * Runs something apart from whoever calls: it sees no store of the caller's AsyncLocalStorages, what it starts keeps none of
 * them, and what it enters (`enterWith`) ends with it. Returns what `work` returns.
 */
export function detached<T>(work: () => T): T {
  // One scope for each call: in Node 20 and 22, `enterWith` writes into the scope itself.
  return root.runInAsyncScope(scope).runInAsyncScope(work);
}

/**
 * What is wrong with a result that counts as done although it cannot be meant so: a generator, of which nothing has run; an
 * Error, or a class of outcomes, in the place of one that is thrown or made. Undefined: nothing.
 * @param outcomes The names of the classes of outcomes.
 */
export function wrongResult(result: unknown, outcomes: readonly string[]): string | undefined {
  if (typeof result === 'function') {
    const isOutcomes = outcomes.includes(result.name) && result.prototype instanceof Error;
    return isOutcomes ? `the class ${result.name}: expected what one of its methods makes` : undefined;
  }
  if (typeof result !== 'object' || result === null) return undefined;
  if (types.isNativeError(result) || result instanceof Error)
    return `an error, which counts as thrown: ${result.message}`;
  return isGenerator(result)
    ? 'a generator, of which nothing has run: expected an async method without *'
    : undefined;
}

/** A promise of any realm or library: a query that runs only once it is awaited is one, too. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
}

/** Also one of a compiler for older versions of JavaScript. */
function isGenerator(value: object): boolean {
  if (types.isGeneratorObject(value)) return true;
  const { next, throw: fail } = value as { next?: unknown; throw?: unknown };
  return typeof next === 'function' && typeof fail === 'function' && Symbol.asyncIterator in value;
}

/** The signal of one run, which lives as long as the run. Any number may listen, and listeners are detached. */
export class RunSignal {
  private controller: AbortController | undefined;

  /** Made when it is first asked for: few handlers look at their signal, and it is the largest part of a run. */
  get signal(): AbortSignal {
    return this.made.signal;
  }

  /** Only the first call counts. */
  abort(reason?: unknown): void {
    const { made } = this;
    detached(() => made.abort(reason));
  }

  private get made(): AbortController {
    if (!this.controller) {
      this.controller = new AbortController();
      setMaxListeners(0, this.controller.signal); // a handler may give it to many calls
    }
    return this.controller;
  }
}
