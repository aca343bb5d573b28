import type { LogLevel } from '@nestjs/common';

/** One of Nest's levels; `off`: no line. */
export type KqLogLevel = LogLevel | 'off';

/** The levels of what happens often. Everything else has a level of its own. */
export interface KqLogLevels {
  /** A run failed, and the message runs again. @default 'warn' */
  retries?: KqLogLevel;
  /** A message that its handler gave up with `Discard` is a dead letter, or is dropped. @default 'warn' */
  discards?: KqLogLevel;
  /** Any other message that is a dead letter, or is dropped. @default 'error' */
  deadLetters?: KqLogLevel;
  /** A message holds its order, as its dead letter cannot be stored. @default 'error' */
  held?: KqLogLevel;
  /** This process is in a group, for the first time or again. @default 'log' */
  joins?: KqLogLevel;
  /** This process is not in a group, and joins again; or the group cannot commit. @default 'warn' */
  groups?: KqLogLevel;
  /** A group has given its partitions anew. @default 'debug' */
  rebalances?: KqLogLevel;
  /** A push failed. Its caller gets the error, too. @default 'off' */
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
