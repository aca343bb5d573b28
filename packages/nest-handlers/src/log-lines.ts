import type { LoggerService } from '@nestjs/common';
import { escaped } from './escaped.js';
import type { LogLevelOrOff } from './log-levels.js';

/** Milliseconds. The same trouble is written once within this time. */
const TROUBLE_EVERY = 60_000;

/** Writes lines of any level. */
export class LogLines {
  private readonly troubles = new Map<string, number>();

  constructor(
    private readonly logger: LoggerService,
    /** Milliseconds that only grow. */
    private readonly clock: { now(): number },
  ) {}

  /**
   * A line of this level; nothing if that is off.
   * @param stack Written with it, if there is one.
   */
  write(level: LogLevelOrOff, text: string, stack?: string): void {
    if (level === 'off') return;
    const line = escaped(text);
    if (!stack) this.logger[level]?.(line);
    else if (level === 'error') this.logger.error(line, stack);
    // At all other levels Nest takes a second argument for the context.
    else this.logger[level]?.(`${line}\n${stack}`);
  }

  /** False: one of the same kind was written less than a minute ago, so this is not. */
  nowAndThen(kind: string, level: LogLevelOrOff, line: string): boolean {
    const now = this.clock.now();
    for (const [told, at] of this.troubles) if (now - at >= TROUBLE_EVERY) this.troubles.delete(told);
    if (this.troubles.has(kind)) return false;
    this.troubles.set(kind, now);
    this.write(level, line);
    return true;
  }

  /** The next one of this kind is written at once. */
  forget(kind: string): void {
    this.troubles.delete(kind);
  }
}
