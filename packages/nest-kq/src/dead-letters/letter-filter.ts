import { checkOptions } from '../api/checks.js';
import { topicName } from '../api/topic.js';
import { wrongValue } from '../errors.js';
import type { KqDeadLetterFilter, KqDeadLetterRef, KqDeadLetterSummary } from './kq-dead-letters.js';

const TEXTS = ['error', 'group', 'key'] as const;
const TIMES = ['from', 'to'] as const;
const NAMES: readonly string[] = [
  'topic',
  ...TEXTS,
  ...TIMES,
] satisfies readonly (keyof KqDeadLetterFilter)[];

/** Checks a filter and returns its predicate; throws `KQ_BAD_OPTION` or `KQ_BAD_TOPIC`. */
export function letterMatcher(filter: KqDeadLetterFilter): (letter: KqDeadLetterSummary) => boolean {
  checkOptions('KQ_BAD_OPTION', 'a dead-letter filter', filter, NAMES);
  for (const name of TEXTS) {
    const value: unknown = filter[name];
    if (value !== undefined && typeof value !== 'string')
      throw wrongValue('KQ_BAD_OPTION', `\`${name}\``, value, 'a string');
  }
  for (const name of TIMES) {
    const value: unknown = filter[name];
    if (value !== undefined && !(value instanceof Date && !Number.isNaN(value.getTime())))
      throw wrongValue('KQ_BAD_OPTION', `\`${name}\``, value, 'a valid Date');
  }
  const { error, group, key, from, to } = filter;
  const topic = filter.topic === undefined ? undefined : topicName(filter.topic);
  const text = error?.toLowerCase();
  return (letter) =>
    (topic === undefined || letter.origin.topic === topic) &&
    (group === undefined || letter.group === group) &&
    (key === undefined || letter.key === key) &&
    (from === undefined || letter.diedAt >= from) &&
    (to === undefined || letter.diedAt < to) &&
    (text === undefined ||
      [letter.error.name, letter.error.message].some((each) => each.toLowerCase().includes(text)));
}

/** Returns the position of one letter, or undefined if `which` is a filter. `KQ_BAD_OPTION`. */
export function placeIn(
  which: KqDeadLetterRef | KqDeadLetterFilter,
): { partition: number; offset: bigint } | undefined {
  const isRef = typeof which === 'object' && which !== null && ('partition' in which || 'offset' in which);
  return isRef ? placeOf(which as KqDeadLetterRef) : undefined;
}

/** Returns the checked position of a letter. `KQ_BAD_OPTION`. */
export function placeOf(ref: KqDeadLetterRef): { partition: number; offset: bigint } {
  checkOptions('KQ_BAD_OPTION', 'a dead-letter reference', ref, ['partition', 'offset']);
  const { partition, offset } = ref;
  if (!Number.isSafeInteger(partition) || partition < 0)
    throw wrongValue('KQ_BAD_OPTION', '`partition`', partition, 'a whole number, 0 or more');
  if (!/^\d{1,19}$/.test(String(offset)))
    throw wrongValue('KQ_BAD_OPTION', '`offset`', offset, 'an offset in decimal digits');
  return { partition, offset: BigInt(offset) };
}
