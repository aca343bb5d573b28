import { type Arguments, type Flags, pastRangeOf } from 'nest-handlers/cli';
import type { DeadLetterFilter } from '../operate/letter-filter.js';

const WHYS = ['attempts', 'discarded', 'invalid', 'stale'] as const;

/** Flags that select dead letters. */
export const LETTER_FLAGS: Flags = {
  from: {
    value: 'TIME',
    help: 'died at or after this time: 2026-12-24T18:00:00Z, or relative to now, such as -1h',
  },
  to: { value: 'TIME', help: 'died before this time' },
  why: { value: 'WHY', values: WHYS, help: `cause of death: ${WHYS.join(', ')}` },
  error: { value: 'TEXT', help: 'error contains this string, in upper or lower case' },
};

/** The same, and those that `dead groups` puts together. */
export const GROUP_FLAGS: Flags = {
  ...LETTER_FLAGS,
  group: { value: 'GROUP', help: 'letters of a group, as nest-dq dead groups prints it' },
};

/** Returns the filter that GROUP_FLAGS describe. */
export function groupFilter(args: Arguments, now: number): Omit<DeadLetterFilter, 'limit'> {
  return { ...letterFilter(args, now), group: args.text('group', 'a group of nest-dq dead groups') };
}

/** Returns the filter that LETTER_FLAGS describe. */
export function letterFilter(args: Arguments, now: number): Omit<DeadLetterFilter, 'limit' | 'group'> {
  const { from: diedFrom, to: diedTo } = pastRangeOf(args, now);
  return {
    diedFrom,
    diedTo,
    why: args.oneOf('why', WHYS),
    error: args.text('error', 'a substring of the error'),
  };
}
