import type { Duration, When } from 'nest-handlers/time';

/** A handler's result beyond "done" or "failed"; may be returned or thrown. */
export abstract class Outcome extends Error {
  /** Kind of outcome. */
  abstract readonly '~outcome': 'retry' | 'again' | 'discard';
}

/** A failed run whose retry comes after this delay instead of the backoff's. Counts as an attempt. */
export class Retry extends Outcome {
  /** Kind of outcome. */
  readonly '~outcome' = 'retry';

  private constructor(
    /** Delay from the end of this run. */
    readonly delay: Duration,
    cause: unknown,
  ) {
    super(`retry after ${String(delay)}`, cause === undefined ? undefined : { cause });
    this.name = 'Retry';
  }

  /**
   * Retries after `delay`. If no attempts are left, the job becomes a dead letter. An invalid delay is an ordinary failure,
   * `DQ_BAD_DURATION`.
   * @param cause The reason, for events and the dead letter.
   */
  static after(delay: Duration, cause?: unknown): Retry {
    return new Retry(delay, cause);
  }
}

/**
 * A successful run of a job that isn't finished: it runs again at the given time, with the same key and payload and a fresh set
 * of attempts. For polling, multi-stage jobs and jobs that recur.
 */
export class Again extends Outcome {
  /** Kind of outcome. */
  readonly '~outcome' = 'again';

  private constructor(
    /** A delay from the end of this run, or a time. */
    readonly when: { readonly delay: Duration } | { readonly at: When },
  ) {
    super('again');
    this.name = 'Again';
  }

  /** Runs again after `delay`, counted from the end of this run. An invalid delay is a failure, `DQ_BAD_DURATION`. */
  static after(delay: Duration): Again {
    return new Again({ delay });
  }

  /**
   * Runs again at `when`. If that is in the past, the job runs one second after this run was due, or at once if that has passed
   * too. A value that isn't a time is a failure, `DQ_BAD_TIME`.
   */
  static at(when: When): Again {
    return new Again({ at: when });
  }
}

/** A job that can never succeed: it becomes a dead letter at once, with this reason. */
export class Discard extends Outcome {
  /** Kind of outcome. */
  readonly '~outcome' = 'discard';

  private constructor(
    /** The reason as given. */
    readonly reason: string,
  ) {
    super(reason);
    this.name = 'Discard';
  }

  /** Discards the job; `reason` becomes the message of the dead letter's error. */
  static because(reason: string): Discard {
    return new Discard(reason);
  }
}
