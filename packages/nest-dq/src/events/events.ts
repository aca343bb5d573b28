import type { Observable } from 'rxjs';
import type { DeadLetter } from '../api/dead-letter.js';
import type { DelayedJob, JobReceipt, JobRefText } from '../api/job.js';

/** What each event carries. All are of this process: what it scheduled, revoked and ran, and the nodes as it sees them. */
export interface DqEventMap {
  /** An add stored a job, or replaced one. Not of an add that kept the key's present job. */
  scheduled: { readonly receipt: JobReceipt };
  /** A handler is about to be called. */
  started: { readonly job: DelayedJob };
  /**
   * A run went well, and the ledger has taken it; one that returned `Again` too. `took`: ms that the handler took.
   * `result`: what it returned.
   */
  completed: { readonly job: DelayedJob; readonly took: number; readonly result: unknown };
  /**
   * A run failed, and the ledger has taken it. `took`: ms until it failed. Without `retryAt` no other run follows: it is
   * dead, which `dead` tells after this, or was revoked or replaced meanwhile.
   */
  failed: {
    readonly job: DelayedJob;
    readonly error: Error;
    readonly took: number;
    readonly retryAt?: Date;
  };
  /** A job became a dead letter here. No node is asked: the letter is made of the copy in hand. */
  dead: { readonly letter: DeadLetter };
  /**
   * A revoke by this process ended as `revoked`. `ref` is the text of the receipt it was given; of a revoke by key what
   * the ledger knew, and absent where that only stopped an add on its way.
   */
  revoked: { readonly id: string; readonly ref?: JobRefText; readonly tube: string; readonly key?: string };
  /** A run starts more than `lateAfter` after it was due; told after `started`. */
  late: { readonly job: DelayedJob };
  /** A node does not answer: once for each time that begins, and once if the first connection fails. */
  nodeDown: { readonly node: string; readonly error: Error };
  /** A node answers: the first time, and whenever it is back. */
  nodeUp: { readonly node: string };
  /** A node answers, but refuses to store, or takes no connection that reserves: what it is, and what to do. */
  nodeTrouble: { readonly node: string; readonly message: string };
}

/** Names of events, as `@OnDq` and `DqEvents.on` take them. */
export type DqEventName = keyof DqEventMap;

/**
 * What happens to jobs and nodes, of this process only. Inject it, or decorate methods with `@OnDq`.
 * Listeners are called at once, between the steps of a job, so they should be quick. One that throws or rejects is logged,
 * and changes nothing.
 */
export abstract class DqEvents {
  /** Hot: tells what happens from the subscription on, and completes when the module is closed. `DQ_BAD_OPTION`: no such event. */
  abstract on<N extends DqEventName>(name: N): Observable<DqEventMap[N]>;
}
