import { type Arguments, type Flags, pastRangeOf } from 'nest-handlers/cli';
import { systemClock } from 'nest-handlers/time';
import type { KqDeadLetterFilter, KqDeadLetterRef } from '../dead-letters/kq-dead-letters.js';

export const FILTER_FLAGS: Flags = {
  error: { value: 'TEXT', help: "the error's name or message contains this string" },
  topic: { value: 'TOPIC', help: 'original topic of the message' },
  group: { value: 'GROUP', help: 'group that failed to handle it' },
  key: { value: 'KEY', help: 'key of the message' },
  from: {
    value: 'TIME',
    help: 'died at or after this time: 2026-12-24T18:00:00Z, or relative to now, such as -1h',
  },
  to: { value: 'TIME', help: 'died before this time' },
};

export const PLACE_FLAGS: Flags = {
  partition: { value: 'N', help: 'with --offset: one letter, as shown by `dead list`' },
  offset: { value: 'N', help: 'with --partition' },
};

export function filterOf(args: Arguments): KqDeadLetterFilter {
  const now = systemClock.wall();
  const { from, to } = pastRangeOf(args, now);
  const text = (flag: 'error' | 'topic' | 'group' | 'key') => {
    const value = args.text(flag, 'a non-empty string');
    return value === undefined ? {} : { [flag]: value };
  };
  return {
    ...text('error'),
    ...text('topic'),
    ...text('group'),
    ...text('key'),
    ...(from && { from }),
    ...(to && { to }),
  };
}

/** Returns undefined if no letter is named. */
export function placeOf(args: Arguments): KqDeadLetterRef | undefined {
  const partition = args.count('partition', 0, 2 ** 31 - 1);
  const offset = args.count('offset', 0, Number.MAX_SAFE_INTEGER);
  if (partition === undefined && offset === undefined) return undefined;
  if (partition === undefined || offset === undefined)
    throw args.wrong('expected both --partition and --offset.');
  return { partition, offset };
}
