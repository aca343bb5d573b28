/** Library-specific parts of handlers, such as those that run jobs: names, errors, outcomes. */
export interface HandlerKind<Item extends object = object> {
  /** Result of a context's `getType()` while a handler runs, such as `'dq'`. Unique among the application's libraries. */
  readonly context: string;
  /** Name of the function that checks for that context, for messages: `'isDqContext'`. */
  readonly contextCheck: string;
  /** Name of the module that registers a cluster, for messages: `'DqModule'`. */
  readonly module: string;
  /** Name of a handler's second argument, for messages: `'job'`. The first is its payload. */
  readonly item: string;
  /** The parameter decorators for both arguments, for messages: `'@DelayedPayload(), @CurrentJob()'`. */
  readonly parameters: string;
  /** Returns the error that stops the startup of a misconfigured application. */
  configError(message: string): Error;
  /** Describes anything that was thrown, for a log. Never throws. */
  readError(thrown: unknown): { readonly message: string; readonly stack?: string | undefined };
  /**
   * Whether the value is an outcome, which determines what happens to the item next: an Error that handlers, interceptors and
   * filters return or throw. Never throws.
   */
  isOutcome(value: unknown): boolean;
  /**
   * Called when an interceptor ended the run before its handler returned.
   * @param handler Resolves when the handler returns, and never rejects.
   */
  abandon(item: Item, handler: Promise<unknown>): void;
}

/** A method as called by its library. Returns the result as changed by interceptors, or the outcome the method returned. */
export type Handler<Item extends object = object> = (payload: any, item: Item) => unknown;
