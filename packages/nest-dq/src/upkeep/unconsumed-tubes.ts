import type { Clock, Timer } from 'nest-handlers/time';

/** Pause between two looks. A deploy may restart all consumers of a tube in between. */
const INTERVAL_MS = 60_000;

interface UnconsumedTubesParts {
  readonly clock: Clock;
  /** Whether this process is the leader, which looks for all. */
  readonly elected: () => boolean;
  /** Resolves with the tubes, without the prefix, that have due jobs and no consumer in any process. Never rejects. */
  readonly look: () => Promise<readonly string[]>;
  readonly warn: (message: string) => void;
}

/**
 * Warns once of each tube with due jobs that no process consumes, for example because its name is misspelt or no module has its
 * handler's class.
 */
export class UnconsumedTubes {
  /** The tubes found by the last look. */
  private seen: ReadonlySet<string> = new Set();
  private readonly warned = new Set<string>();
  private timer: Timer | undefined;
  private closed = false;

  constructor(private readonly parts: UnconsumedTubesParts) {}

  /** Idempotent; does nothing after `close`. */
  start(): void {
    if (!this.closed) this.timer ??= this.parts.clock.after(INTERVAL_MS, () => void this.look());
  }

  /** Idempotent. */
  close(): void {
    this.closed = true;
    this.timer?.cancel();
  }

  private async look(): Promise<void> {
    const { clock, elected, look, warn } = this.parts;
    const found = elected() ? await look() : [];
    if (this.closed) return;
    for (const tube of found) {
      if (!this.seen.has(tube) || this.warned.has(tube)) continue;
      this.warned.add(tube);
      warn(
        `jobs of ${tube} are due, but no process consumes it: start one with a handler for it whose class is in the \`providers\` or ` +
          '`controllers` of a module, or revoke the jobs if the name is misspelt',
      );
    }
    this.seen = new Set(found);
    this.timer = clock.after(INTERVAL_MS, () => void this.look());
  }
}
