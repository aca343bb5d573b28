import { Logger, type LoggerService } from '@nestjs/common';

/** Returns the logger used if the options have none. */
export function defaultLogger(): LoggerService {
  return new Logger('Dq');
}
