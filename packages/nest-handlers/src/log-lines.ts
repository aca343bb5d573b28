import type { LoggerService } from '@nestjs/common';
import { escaped } from './escaped.js';
import type { LogLevelOrOff } from './log-levels.js';

/** Interval in which the same trouble is logged only once. */
const TROUBLE_EVERY_MS = 60_000;

/** Writes log lines of any level. */
export class LogLines {
  private readonly troubles = new Map<string, number>();

  constructor(
    private readonly logger: LoggerService,
    /** Monotonic clock, in ms. */
    private readonly clock: { now(): number },
  ) {}

  /**
   * Writes a line at this level, or nothing if it is `off`.
   * @param stack Logged along with it, if any.
   */
  write(level: LogLevelOrOff, text: string, stack?: string): void {
    if (level === 'off') return;
    const line = escaped(text);
    if (!stack) this.logger[level]?.(line);
    else if (level === 'error') this.logger.error(line, stack);
    // At all other levels Nest takes a second argument for the context.
    else this.logger[level]?.(`${line}\n${stack}`);
  }

  /** Writes a line unless one of the same kind was written less than a minute ago; then returns false. */
  nowAndThen(kind: string, level: LogLevelOrOff, line: string): boolean {
    const now = this.clock.now();
    for (const [told, at] of this.troubles) if (now - at >= TROUBLE_EVERY_MS) this.troubles.delete(told);
    if (this.troubles.has(kind)) return false;
    this.troubles.set(kind, now);
    this.write(level, line);
    return true;
  }

  /** Lets the next line of this kind be written immediately. */
  forget(kind: string): void {
    this.troubles.delete(kind);
  }
}
