import type { LogLevel, LoggerService } from '@nestjs/common';
import { show, unknownName } from '../errors.js';
import { wrong } from './option-checks.js';

/** One of Nest's levels; `off`: no line. */
export type DqLogLevel = LogLevel | 'off';

/** The levels of what happens often. Everything else has a level of its own. */
export interface DqLogLevels {
  /** A run failed without a dead letter: it is tried again, or its job was revoked or replaced. @default 'warn' */
  retries?: DqLogLevel;
  /** A dead letter that a handler asked for with `Discard`. @default 'warn' */
  discards?: DqLogLevel;
  /** Any other dead letter. @default 'error' */
  deadLetters?: DqLogLevel;
  /** A node, or Redis, does not answer, or answers again. @default 'warn' */
  servers?: DqLogLevel;
}

export const DEFAULT_LOG_LEVELS: Required<DqLogLevels> = {
  retries: 'warn',
  discards: 'warn',
  deadLetters: 'error',
  servers: 'warn',
};

const LEVELS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const satisfies LogLevel[];

/** Checks what the user gave, and that the logger has a method for it; `DQ_CONFIG`. */
export function resolveLogLevels(given: DqLogLevels = {}, logger: LoggerService): Required<DqLogLevels> {
  if (typeof given !== 'object' || given === null)
    throw wrong('`logLevels`', given, "an object such as { retries: 'debug' }");
  const levels = { ...DEFAULT_LOG_LEVELS };
  for (const [name, level] of Object.entries(given) as [keyof DqLogLevels, DqLogLevel | undefined][]) {
    if (level === undefined) continue;
    if (!Object.hasOwn(levels, name)) {
      throw unknownName('DQ_CONFIG', `\`logLevels.${name}\` (given ${show(level)})`, Object.keys(levels));
    }
    if (level !== 'off' && !LEVELS.includes(level))
      throw wrong(`\`logLevels.${name}\``, level, `one of ${LEVELS.join(', ')}, off`);
    if (level !== 'off' && typeof logger[level] !== 'function')
      throw wrong(`\`logLevels.${name}\``, level, `a level that the \`logger\` has a method for`);
    levels[name] = level;
  }
  return levels;
}

/** Begins each line with the name of its cluster, if that has one. */
export function clusterLogger(logger: LoggerService, cluster: string | undefined): LoggerService {
  if (cluster === undefined) return logger;
  const named = LEVELS.filter((level) => logger[level]).map((level) => [
    level,
    (message: unknown, ...more: unknown[]) => logger[level]!(`[${cluster}] ${String(message)}`, ...more),
  ]);
  return Object.fromEntries(named) as LoggerService;
}
