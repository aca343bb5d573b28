import type { LoggerService } from '@nestjs/common';

/** Writes warnings and errors to stderr. Nest's own logger writes warnings to stdout, where the table is. */
export const stderrLogger: LoggerService = {
  log: () => undefined,
  warn: complain,
  error: complain,
  fatal: complain,
};

function complain(...message: unknown[]): void {
  process.stderr.write(`${message.join(' ')}\n`);
}
