import type { LogLevel } from '@nestjs/common';

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
