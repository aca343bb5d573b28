import type { LoggerService } from '@nestjs/common';

/** What an application has to complain about, away from the table; Nest's own logger writes warnings to stdout. */
export const stderrLogger: LoggerService = {
  log: () => undefined,
  warn: complain,
  error: complain,
  fatal: complain,
};

function complain(...message: unknown[]): void {
  process.stderr.write(`${message.join(' ')}\n`);
}
