import { showInstant, type When } from 'nest-handlers/time';
import type { DeadLetter } from '../api/dead-letter.js';
import { DqError, show, unknownName, wrongValue } from '../errors.js';
import type { Letter } from '../ledger/requests.js';
import { checkObject } from '../producer/call-options.js';
import { parseWhen } from '../time/instant.js';
import { checkLimit, type BulkLimit } from './bulk.js';
import { groupOf } from './letter-group.js';

/** Selects dead letters of a tube that match all given fields; `{}` selects all. */
export interface DeadLetterFilter extends BulkLimit {
  /** Letters that died at this time or later, by the ledger's clock. */
  diedFrom?: When;
  /** Letters that died before this time. */
  diedTo?: When;
  /** Letters with this cause of death. */
  why?: DeadLetter['why'];
  /** Letters whose error has this string in its message or name, in upper or lower case. */
  error?: string;
  /** Letters of this group of `DqInspector.deadGroups`: exactly those with the same kind of error. */
  group?: string;
}

/** The fields the filter looks at. */
type LetterFacts = Pick<Letter, 'died' | 'why' | 'error'>;

/** Ledger times in ms. */
interface CheckedLetterFilter extends BulkLimit {
  readonly diedFrom: number;
  readonly diedTo: number | undefined;
  readonly matches: (letter: LetterFacts) => boolean;
  /** Whether the time of death alone decides. */
  readonly byTime: boolean;
}

const WHYS: Readonly<Record<DeadLetter['why'], true>> = {
  attempts: true,
  discarded: true,
  invalid: true,
  stale: true,
  expired: true,
};

/** Throws `DQ_BAD_OPTION`, `DQ_BAD_TIME`. */
export function checkLetterFilter(filter: DeadLetterFilter): CheckedLetterFilter {
  if (filter === undefined)
    throw wrongValue('DQ_BAD_OPTION', 'the filter', filter, 'an object; {} matches all letters');
  const names = ['diedFrom', 'diedTo', 'why', 'error', 'group', 'limit'] as const;
  const { why, error, group, limit, ...times } = checkObject('the filter', filter, names);
  if (why !== undefined && !Object.hasOwn(WHYS, why))
    throw unknownName('DQ_BAD_OPTION', `\`why\` ${show(why)}`, Object.keys(WHYS));
  for (const [name, value] of Object.entries({ error, group })) {
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      throw wrongValue('DQ_BAD_OPTION', `\`${name}\``, value, 'a non-empty string');
  }
  checkLimit(limit);
  const [diedFrom, diedTo] = checkRange(times, 'diedFrom', 'diedTo');
  const text = error?.toLowerCase();
  const matches = (letter: LetterFacts) =>
    letter.died >= diedFrom &&
    letter.died < (diedTo ?? Infinity) &&
    (why === undefined || letter.why === why) &&
    (text === undefined || has(letter, text)) &&
    (group === undefined || groupOf(letter) === group);
  const byTime = why === undefined && text === undefined && group === undefined;
  return { diedFrom, diedTo, matches, byTime, limit };
}

/** Returns times in ms, 0 and undefined where none is given. Throws `DQ_BAD_OPTION` if the range is empty; `DQ_BAD_TIME`. */
export function checkRange<Name extends string>(
  times: { readonly [N in Name]?: When },
  first: Name,
  last: Name,
): [from: number, to: number | undefined] {
  const from = times[first] === undefined ? 0 : parseWhen(times[first]);
  const to = times[last] === undefined ? undefined : parseWhen(times[last]);
  if (to === undefined || from < to) return [from, to];
  const range = `\`${first}\` is ${showInstant(from)} and \`${last}\` is ${showInstant(to)}`;
  throw new DqError('DQ_BAD_OPTION', `${range}: expected \`${last}\` to be later`);
}

/** @param text In lower case. */
function has({ error }: LetterFacts, text: string): boolean {
  return error !== undefined && [error.message, error.name].some((each) => each.toLowerCase().includes(text));
}
