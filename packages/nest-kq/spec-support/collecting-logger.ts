import type { LoggerService } from '@nestjs/common';

export interface LogLine {
  readonly level: 'log' | 'warn' | 'error' | 'debug';
  readonly message: string;
  readonly stack?: string;
}

/** Collects what is logged for specs. */
export class CollectingLogger implements LoggerService {
  readonly lines: LogLine[] = [];

  log(message: string): void {
    this.lines.push({ level: 'log', message });
  }

  warn(message: string): void {
    this.lines.push({ level: 'warn', message });
  }

  error(message: string, stack?: string): void {
    this.lines.push({ level: 'error', message, stack });
  }

  debug(message: string): void {
    this.lines.push({ level: 'debug', message });
  }

  /** The messages that match the pattern, in order. */
  matching(pattern: RegExp): string[] {
    return this.lines.map(({ message }) => message).filter((message) => pattern.test(message));
  }
}
