import type { LogLevel, LoggerService } from '@nestjs/common';

const LEVELS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const satisfies LogLevel[];

/** Begins each line with the name of its cluster, if that has one. */
export function clusterLogger(logger: LoggerService, cluster: string | undefined): LoggerService {
  if (cluster === undefined) return logger;
  const named = LEVELS.filter((level) => logger[level]).map((level) => [
    level,
    (message: unknown, ...more: unknown[]) => logger[level]!(`[${cluster}] ${String(message)}`, ...more),
  ]);
  return Object.fromEntries(named) as LoggerService;
}
