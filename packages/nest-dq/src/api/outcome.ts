import type { Duration, When } from 'nest-handlers/time';

/** What a handler returns or throws to say more than «done» or «failed». */
export abstract class Outcome extends Error {
  /** Which of the three. */
  abstract readonly '~outcome': 'retry' | 'again' | 'discard';
}

/** The run failed, and the next one comes after this delay instead of the backoff's. It counts as an attempt. */
export class Retry extends Outcome {
  /** Which of the three. */
  readonly '~outcome' = 'retry';

  private constructor(
    /** From the end of this run. */
    readonly delay: Duration,
    cause: unknown,
  ) {
    super(`retry after ${String(delay)}`, cause === undefined ? undefined : { cause });
    this.name = 'Retry';
  }

  /**
   * If no attempt is left, the job becomes a dead letter. A wrong delay is a failure like any other, `DQ_BAD_DURATION`.
   * @param cause Why, for events and the dead letter.
   */
  static after(delay: Duration, cause?: unknown): Retry {
    return new Retry(delay, cause);
  }
}

/**
 * The run went well, but the job is not over: it runs again at that time, with the same key and payload, and its attempts
 * begin anew. For polling, stages, and jobs that recur.
 */
export class Again extends Outcome {
  /** Which of the three. */
  readonly '~outcome' = 'again';

  private constructor(
    /** A delay from the end of this run, or an instant. */
    readonly when: { readonly delay: Duration } | { readonly at: When },
  ) {
    super('again');
    this.name = 'Again';
  }

  /** The delay counts from the end of this run. A wrong one is a failure, `DQ_BAD_DURATION`. */
  static after(delay: Duration): Again {
    return new Again({ delay });
  }

  /** If the instant is over, the job runs a second after this run was due, or at once if that is over too. A value that is no instant is a failure, `DQ_BAD_TIME`. */
  static at(when: When): Again {
    return new Again({ at: when });
  }
}

/** The job can never succeed: it becomes a dead letter at once, with this reason. */
export class Discard extends Outcome {
  /** Which of the three. */
  readonly '~outcome' = 'discard';

  private constructor(
    /** Why, as it was given. */
    readonly reason: string,
  ) {
    super(reason);
    this.name = 'Discard';
  }

  /** The dead letter has the reason as its error's message. */
  static because(reason: string): Discard {
    return new Discard(reason);
  }
}
