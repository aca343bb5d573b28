import type { LogLevel } from '@nestjs/common';

/** One of Nest's levels; `off` logs nothing. */
export type DqLogLevel = LogLevel | 'off';

/** Levels of frequent events. Everything else has a fixed level. */
export interface DqLogLevels {
  /** A failed run without a dead letter: it is retried, or its job was revoked or replaced. @default 'warn' */
  retries?: DqLogLevel;
  /** A dead letter requested by a handler with `Discard`. @default 'warn' */
  discards?: DqLogLevel;
  /** Any other dead letter. @default 'error' */
  deadLetters?: DqLogLevel;
  /** A node or Redis stopped answering, or answers again. @default 'warn' */
  servers?: DqLogLevel;
}

export const DEFAULT_LOG_LEVELS: Required<DqLogLevels> = {
  retries: 'warn',
  discards: 'warn',
  deadLetters: 'error',
  servers: 'warn',
};
