import type { Duration } from 'nest-handlers/time';

/** A value a handler returns or throws to say more than «handled» or «failed». */
export abstract class Outcome extends Error {
  /** The kind of outcome. */
  abstract readonly '~outcome': 'retry' | 'discard';
}

/** The run failed; the next one starts after this delay instead of the backoff. Counts as an attempt. */
export class Retry extends Outcome {
  /** The kind of outcome. */
  readonly '~outcome' = 'retry';

  private constructor(
    /** The delay as given, counted from the end of this run. */
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
   * Retries the message after `delay`, or sends it to the dead letters if no attempt is left. An invalid delay counts as an
   * ordinary failure, `KQ_BAD_OPTION`.
   * @param delay Counted from the end of this run. Messages after it in the same order wait, too.
   * @param cause The reason, for events and the dead letter.
   */
  static after(delay: Duration, cause?: unknown): Retry {
    return new Retry(delay, cause);
  }
}

/** The message can never be handled: it goes to the dead letters at once, with this reason. */
export class Discard extends Outcome {
  /** The kind of outcome. */
  readonly '~outcome' = 'discard';

  private constructor(
    /** The reason as given. */
    readonly reason: string,
  ) {
    super(reason);
    this.name = 'Discard';
  }

  /** Discards the message. The reason becomes the error message of the dead letter. */
  static because(reason: string): Discard {
    return new Discard(reason);
  }
}

/** Checks the mark rather than the class: an application may load this library twice. */
export function isOutcome(value: unknown): value is Outcome {
  try {
    return typeof value === 'object' && value !== null && '~outcome' in value;
  } catch {
    return false; // a proxy's trap threw
  }
}
