/** Port to nest-dq, which an application may not have, for messages that wait. */
import type { Duration, When } from 'nest-handlers/time';
import type { DelayedPush } from '../api/message.js';
import type { LogMessage, OutgoingMessage, TopicPartition } from '../driver/message.js';
import { KqError } from '../errors.js';

/** When to push a message. */
export type Later = { readonly delay: Duration } | { readonly at: When };

/** A message whose runs have failed so far. */
export interface FailedMessage extends TopicPartition {
  readonly message: LogMessage;
  /** Number of runs. */
  readonly runs: number;
}

/** Result of running a message that came back from nest-dq. */
export type LaterOutcome =
  | 'handled'
  /** Runs again after `after` ms. */
  | { readonly after: number; readonly error: Error }
  /** Won't run again. */
  | { readonly final: Error; readonly why: 'attempts' | 'notRetried' | 'discarded' | 'unreadable' };

/** Runs a message that came back. `signal` aborts when nobody waits for the run any more. Never rejects. */
export type RunLater = (failed: FailedMessage, signal: AbortSignal) => Promise<LaterOutcome>;

export interface Delays {
  /** Resolves once the message is stored; rejects with a `KqError`. */
  push(topic: string, message: OutgoingMessage, when: Later): Promise<DelayedPush>;
  /**
   * Resolves once a job of the message is stored that runs it after `after` ms, or one already existed. Rejects with a
   * `KqError`.
   * @param attempts Max runs of the job.
   */
  retry(group: string, failed: FailedMessage, after: number, attempts: number): Promise<void>;
  /** Starts pushing waiting messages. */
  consumePushes(push: (topic: string, message: OutgoingMessage) => Promise<unknown>): Promise<Consuming>;
  /** Starts running the group's waiting messages. */
  consumeRetries(group: string, concurrency: number, run: RunLater): Promise<Consuming>;
}

export interface Consuming {
  /** Resolves when nothing runs any more. */
  stop(): Promise<void>;
}

/** Gives the parts of a cluster access to nest-dq. */
export class DelaysPort {
  private delays: Delays | undefined;
  /** Whether this process runs waiting messages. */
  consume = false;

  open(delays: Delays, consume: boolean): void {
    this.delays = delays;
    this.consume = consume;
  }

  /** Returns undefined if the application doesn't have it. */
  find(): Delays | undefined {
    return this.delays;
  }

  /** Returns nest-dq; throws `KQ_CONFIG` if the application doesn't have it. `what` names the feature that needs it. */
  need(what: string): Delays {
    if (this.delays) return this.delays;
    throw new KqError(
      'KQ_CONFIG',
      `${what} needs nest-dq: import KqDqModule.forRoot() from 'nest-kq/dq' in addition to DqModule.forRoot(…)`,
    );
  }
}
