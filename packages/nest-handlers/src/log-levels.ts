import type { LogLevel, LoggerService } from '@nestjs/common';
import { escapedLines } from './escaped.js';

/** One of Nest's levels, or `off` to log nothing. */
export type LogLevelOrOff = LogLevel | 'off';

/** Errors of wrong options. `what` names the option as written. */
export interface LogErrors {
  /** Returns the error for an invalid logger or level, or a level the logger lacks. */
  wrong(what: string, value: unknown, expected: string): Error;
  /** Returns the error for a level given for something that is never logged. */
  unknownName(what: string, value: unknown, known: readonly string[]): Error;
}

const LEVELS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const satisfies LogLevel[];

/** Log options, as given by a user or checked and filled. */
export interface Log<Levels extends object> {
  /** Destination of lines. */
  readonly logger: LoggerService;
  /** Log level by kind of line. */
  readonly logLevels: Required<Levels>;
}

/** Checks both options and fills in the defaults. The resulting logger is the library's. */
export function resolveLog<Levels extends object>(
  given: { logger?: LoggerService; logLevels?: Levels },
  defaults: Log<Levels>,
  cluster: string | undefined,
  errors: LogErrors,
): Log<Levels> {
  const logger = given.logger === undefined ? defaults.logger : checkLogger(given.logger, errors);
  return {
    logger: libraryLogger(logger, cluster),
    logLevels: resolveLevels(given.logLevels, defaults.logLevels, logger, errors),
  };
}

function checkLogger(logger: LoggerService, errors: LogErrors): LoggerService {
  const methods = ['log', 'warn', 'error'] as const;
  if (
    typeof logger === 'object' &&
    logger !== null &&
    methods.every((name) => typeof logger[name] === 'function')
  )
    return logger;
  throw errors.wrong('`logger`', logger, 'an object with the methods log, warn and error');
}

/** Also checks that the logger has a method for each level. */
function resolveLevels<Levels extends object>(
  given: Levels | undefined,
  defaults: Required<Levels>,
  logger: LoggerService,
  errors: LogErrors,
): Required<Levels> {
  if (typeof (given ?? {}) !== 'object' || given === null)
    throw errors.wrong('`logLevels`', given, "an object such as { retries: 'debug' }");
  const levels: Record<string, LogLevelOrOff> = { ...(defaults as Record<string, LogLevelOrOff>) };
  for (const [name, level] of Object.entries(given ?? {}) as [string, LogLevelOrOff | undefined][]) {
    if (level === undefined) continue;
    const what = `\`logLevels.${name}\``;
    if (!Object.hasOwn(levels, name)) throw errors.unknownName(what, level, Object.keys(levels));
    if (level !== 'off' && !LEVELS.includes(level))
      throw errors.wrong(what, level, `one of ${LEVELS.join(', ')}, off`);
    if (level !== 'off' && typeof logger[level] !== 'function')
      throw errors.wrong(what, level, `a level with a method in \`logger\``);
    levels[name] = level;
  }
  return levels as Required<Levels>;
}

/**
 * Returns a library's logger: starts each line with the cluster's name, if any, and escapes foreign content, such as a handler's
 * error, so that a terminal doesn't interpret it and it can't pass for another line.
 */
export function libraryLogger(logger: LoggerService, cluster: string | undefined): LoggerService {
  const begin = cluster === undefined ? '' : `[${cluster}] `;
  const methods = LEVELS.filter((level) => logger[level]).map((level) => [
    level,
    (message: string, ...stack: string[]) => logger[level]!(begin + entry(message), ...stack.map(entry)),
  ]);
  return Object.fromEntries(methods) as LoggerService;
}

/** Indents lines after the first, like those of a stack. */
function entry(text: string): string {
  return escapedLines(text).replace(/\n(?! {4})/g, '\n    ');
}
