import type { LogLevel } from '@nestjs/common';

/** One of Nest's levels, or `off` for no line. */
export type KqLogLevel = LogLevel | 'off';

/** Log levels of frequent events. All other lines have a fixed level. */
export interface KqLogLevels {
  /** A run failed and is retried. @default 'warn' */
  retries?: KqLogLevel;
  /** A message its handler gave up with `Discard` became a dead letter or was dropped. @default 'warn' */
  discards?: KqLogLevel;
  /** Any other message that became a dead letter or was dropped. @default 'error' */
  deadLetters?: KqLogLevel;
  /** A message blocks its order because its dead letter can't be stored. @default 'error' */
  held?: KqLogLevel;
  /** This process joined a group, or joined it again. @default 'log' */
  joins?: KqLogLevel;
  /** This process left a group and is rejoining, or the group can't commit. @default 'warn' */
  groups?: KqLogLevel;
  /** A group reassigned its partitions. @default 'debug' */
  rebalances?: KqLogLevel;
  /** A push failed. The caller gets the error as well. @default 'off' */
  pushes?: KqLogLevel;
}

export const DEFAULT_LOG_LEVELS: Required<KqLogLevels> = {
  retries: 'warn',
  discards: 'warn',
  deadLetters: 'error',
  held: 'error',
  joins: 'log',
  groups: 'warn',
  rebalances: 'debug',
  pushes: 'off',
};
