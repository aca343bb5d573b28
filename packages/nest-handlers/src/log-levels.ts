import type { LogLevel, LoggerService } from '@nestjs/common';
import { escapedLines } from './escaped.js';

/** One of Nest's levels; `off`: no line. */
export type LogLevelOrOff = LogLevel | 'off';

/** The errors of levels that are wrong. `what` names the option as it is written. */
export interface LogLevelErrors {
  /** Of a level that is none, or that the logger does not have. */
  wrong(what: string, value: unknown, expected: string): Error;
  /** Of a level of something that is never logged. */
  unknownName(what: string, value: unknown, known: readonly string[]): Error;
}

const LEVELS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const satisfies LogLevel[];

/** Checks the option `logLevels`, fills in its defaults, and checks that the logger has a method for each level. */
export function resolveLogLevels<Levels extends object>(
  given: Levels | undefined,
  defaults: Required<Levels>,
  logger: LoggerService,
  errors: LogLevelErrors,
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
      throw errors.wrong(what, level, `a level that the \`logger\` has a method for`);
    levels[name] = level;
  }
  return levels as Required<Levels>;
}

/**
 * The logger of a library: it begins each line with the name of its cluster, if that has one, and whatever is in a line of
 * somebody else's, such as the error of a handler, neither is obeyed by a terminal nor looks like another line.
 */
export function libraryLogger(logger: LoggerService, cluster: string | undefined): LoggerService {
  const begin = cluster === undefined ? '' : `[${cluster}] `;
  const methods = LEVELS.filter((level) => logger[level]).map((level) => [
    level,
    (message: string, ...stack: string[]) => logger[level]!(begin + entry(message), ...stack.map(entry)),
  ]);
  return Object.fromEntries(methods) as LoggerService;
}

/** Lines behind the first are indented, as those of a stack are. */
function entry(text: string): string {
  return escapedLines(text).replace(/\n(?! {4})/g, '\n    ');
}
