/** What is particular to the handlers of one library, such as those that run jobs: its words, its errors, its outcomes. */
export interface HandlerKind<Item extends object = object> {
  /** What `getType()` of a context says while a handler runs, such as `'dq'`. No other library of an application has the same. */
  readonly context: string;
  /** The function that applications ask for that context, as messages name it: `'isDqContext'`. */
  readonly contextCheck: string;
  /** The module that registers a cluster, as messages name it: `'DqModule'`. */
  readonly module: string;
  /** The second argument of a handler, as messages name it: `'job'`. The first is the payload of it. */
  readonly item: string;
  /** The parameter decorators for both arguments, as messages name them: `'@DelayedPayload(), @CurrentJob()'`. */
  readonly parameters: string;
  /** The error that ends the start of an application which is put together wrongly. */
  configError(message: string): Error;
  /** What was thrown, as a log can tell it. It may be anything, so this never throws. */
  readError(thrown: unknown): { readonly message: string; readonly stack?: string | undefined };
  /** Whether it says what becomes of the item: an Error that handlers, interceptors and filters return or throw. Never throws. */
  isOutcome(value: unknown): boolean;
  /**
   * An interceptor ended the run before its handler returned.
   * @param handler Settles when the handler returns, and never rejects.
   */
  abandon(item: Item, handler: Promise<unknown>): void;
}

/** A method as its library calls it. Its result is what interceptors made of it, or the outcome that the method returned. */
export type Handler<Item extends object = object> = (payload: any, item: Item) => unknown;
