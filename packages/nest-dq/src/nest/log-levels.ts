import type { LogLevel, LoggerService } from '@nestjs/common';
import { DqError, show } from '../errors.js';
import { wrong } from './option-checks.js';

/** A level of Nest's, or nothing is told. */
export type DqLogLevel = LogLevel | 'off';

/** At which level it is told what happens often. All else has a level of its own. */
export interface DqLogLevels {
  /** A run that failed, and no dead letter came of it: it is tried again, or its job was revoked or replaced. @default 'warn' */
  retries?: DqLogLevel;
  /** A dead letter that a handler asked for with `Discard`. @default 'warn' */
  discards?: DqLogLevel;
  /** Any other dead letter. @default 'error' */
  deadLetters?: DqLogLevel;
  /** A node, or Redis, does not answer; and it answers again. @default 'warn' */
  servers?: DqLogLevel;
}

export const DEFAULT_LOG_LEVELS: Required<DqLogLevels> = {
  retries: 'warn',
  discards: 'warn',
  deadLetters: 'error',
  servers: 'warn',
};

const LEVELS: readonly unknown[] = [
  'fatal',
  'error',
  'warn',
  'log',
  'debug',
  'verbose',
  'off',
] satisfies DqLogLevel[];

/** Checks what the user gave, and that the logger has a method for it; `DQ_CONFIG`. */
export function resolveLogLevels(given: DqLogLevels = {}, logger: LoggerService): Required<DqLogLevels> {
  if (typeof given !== 'object' || given === null)
    throw wrong('`logLevels`', given, "an object such as { retries: 'debug' }");
  const levels = { ...DEFAULT_LOG_LEVELS };
  for (const [name, level] of Object.entries(given) as [keyof DqLogLevels, DqLogLevel | undefined][]) {
    if (level === undefined) continue;
    if (!Object.hasOwn(levels, name)) {
      const names = Object.keys(levels).join(', ');
      throw new DqError(
        'DQ_CONFIG',
        `there is no \`logLevels.${name}\` (given ${show(level)}); there are ${names}`,
      );
    }
    if (!LEVELS.includes(level)) throw wrong(`\`logLevels.${name}\``, level, `one of ${LEVELS.join(', ')}`);
    if (level !== 'off' && typeof logger[level] !== 'function')
      throw wrong(`\`logLevels.${name}\``, level, `a level that the \`logger\` has a method for`);
    levels[name] = level;
  }
  return levels;
}
