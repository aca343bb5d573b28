import type { LoggerService } from '@nestjs/common';

/** Tells in each line which cluster it is about; the one without a name says nothing of itself. */
export function clusterLogger(logger: LoggerService, cluster: string | undefined): LoggerService {
  if (cluster === undefined) return logger;
  const told = (message: unknown) => `[${cluster}] ${String(message)}`;
  return {
    log: (message: unknown) => logger.log(told(message)),
    warn: (message: unknown) => logger.warn(told(message)),
    error: (message: unknown, ...stack: unknown[]) => logger.error(told(message), ...stack),
    ...(logger.debug && { debug: (message: unknown) => logger.debug?.(told(message)) }),
    ...(logger.verbose && { verbose: (message: unknown) => logger.verbose?.(told(message)) }),
    ...(logger.fatal && { fatal: (message: unknown) => logger.fatal?.(told(message)) }),
  };
}
