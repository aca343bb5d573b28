import { Logger, type LoggerService } from '@nestjs/common';

/** The logger of an application whose options have none. */
export function defaultLogger(): LoggerService {
  return new Logger('Dq');
}
