/** What waits for its time in nest-dq: the port to it, as an application may not have it. */
import type { Duration, When } from 'nest-handlers/time';
import type { DelayedPush } from '../api/message.js';
import type { LogMessage, OutgoingMessage, TopicPartition } from '../driver/message.js';
import { KqError } from '../errors.js';

/** When a message is to be pushed. */
export type Later = { readonly delay: Duration } | { readonly at: When };

/** A message whose runs failed up to now. */
export interface FailedMessage extends TopicPartition {
  readonly message: LogMessage;
  /** How many it had. */
  readonly runs: number;
}

/** What the runs of a message came to that came back from nest-dq. */
export type LaterOutcome =
  | 'handled'
  /** It runs again after so many milliseconds. */
  | { readonly after: number; readonly error: Error }
  /** No further run can handle it. */
  | { readonly final: Error; readonly why: 'attempts' | 'notRetried' | 'discarded' | 'unreadable' };

/** Runs a message that came back. `signal` aborts when nobody waits for the run any more. Never rejects. */
export type RunLater = (failed: FailedMessage, signal: AbortSignal) => Promise<LaterOutcome>;

export interface Delays {
  /** Resolves once the message is stored; rejects with a `KqError`. */
  push(topic: string, message: OutgoingMessage, when: Later): Promise<DelayedPush>;
  /**
   * Resolves once a job of the message is stored, which runs it after so many milliseconds, or one was there already.
   * Rejects with a `KqError`.
   * @param attempts The most runs that the job may have.
   */
  retry(group: string, failed: FailedMessage, after: number, attempts: number): Promise<void>;
  /** Pushes what waits, from now on. */
  consumePushes(push: (topic: string, message: OutgoingMessage) => Promise<unknown>): Promise<Consuming>;
  /** Runs what waits of the group, from now on. */
  consumeRetries(group: string, concurrency: number, run: RunLater): Promise<Consuming>;
}

export interface Consuming {
  /** Resolves when nothing runs any more. */
  stop(): Promise<void>;
}

/** Where the parts of a cluster find nest-dq. */
export class DelaysPort {
  private delays: Delays | undefined;
  /** Whether this process runs what waits. */
  consume = false;

  open(delays: Delays, consume: boolean): void {
    this.delays = delays;
    this.consume = consume;
  }

  /** Undefined: the application does not have it. */
  find(): Delays | undefined {
    return this.delays;
  }

  /** `KQ_CONFIG`: the application does not have it. `what` needs it. */
  need(what: string): Delays {
    if (this.delays) return this.delays;
    throw new KqError(
      'KQ_CONFIG',
      `${what} needs nest-dq: expected KqDqModule.forRoot() of 'nest-kq/dq' among the imports, beside DqModule.forRoot(…)`,
    );
  }
}
