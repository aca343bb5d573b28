import type { Duration } from 'nest-handlers/time';

/** What a handler returns or throws to say more than «handled» or «failed». */
export abstract class Outcome extends Error {
  /** Which of the two. */
  abstract readonly '~outcome': 'retry' | 'discard';
}

/** The run failed, and the next one comes after this delay instead of the backoff's. It counts as an attempt. */
export class Retry extends Outcome {
  /** Which of the two. */
  readonly '~outcome' = 'retry';

  private constructor(
    /** From the end of this run, as it was given. */
    readonly delay: Duration,
    cause: unknown,
  ) {
    super(
      `retry after ${String(delay)}${typeof delay === 'number' ? ' ms' : ''}`,
      cause === undefined ? undefined : { cause },
    );
    this.name = 'Retry';
  }

  /**
   * If no attempt is left, the message goes to the dead letters. A wrong delay is a failure like any other, `KQ_BAD_OPTION`.
   * @param delay From the end of this run. The messages behind it in its order wait as long.
   * @param cause Why, for events and the dead letter.
   */
  static after(delay: Duration, cause?: unknown): Retry {
    return new Retry(delay, cause);
  }
}

/** The message can never be handled: it goes to the dead letters at once, with this reason. */
export class Discard extends Outcome {
  /** Which of the two. */
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

/** Checks its mark, not its class: an application may load this library twice. */
export function isOutcome(value: unknown): value is Outcome {
  try {
    return typeof value === 'object' && value !== null && '~outcome' in value;
  } catch {
    return false; // a proxy's trap threw
  }
}
