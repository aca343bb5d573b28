import type { DeadLetter } from '../api/dead-letter.js';
import type { DqDeadLetters } from '../producer/dead-letters.js';
import { checkLetterFilter, type DeadLetterFilter } from '../operate/letter-filter.js';
import { anything, number, text, time, type Input } from './input.js';

/** The fields of a filter of dead letters. */
export const LETTER_FILTER = ['diedFrom', 'diedTo', 'why', 'error', 'limit'] as const;

/** Throws `DQ_BAD_OPTION`, `DQ_BAD_TIME`. */
export function letterFilter(input: Input): DeadLetterFilter {
  return {
    ...input.part('diedFrom', time),
    ...input.part('diedTo', time),
    ...input.part('why', anything<DeadLetter['why']>),
    ...input.part('error', text),
    ...input.part('limit', number),
  };
}

/** For a list, or an example. */
export function withoutPayload(letter: DeadLetter): Omit<DeadLetter, 'payload'> {
  const { payload: _, ...rest } = letter;
  return rest;
}

/** Letters looked at per answer: each costs a call to a node, since its key is in its copies. */
const MAX_LOOKED_AT = 500;

/** Resolves with a page of the letters that match the filter of a query. Rejects as `DqDeadLetters.list` does. */
export async function letterPage(
  deadLetters: DqDeadLetters,
  tube: string,
  query: Input,
): Promise<{ letters: Omit<DeadLetter, 'payload'>[]; cursor?: string }> {
  const { limit = 50, ...filter } = letterFilter(query);
  const { diedFrom, matches } = checkLetterFilter(filter);
  let { cursor } = query.part('cursor', text);
  const letters: Omit<DeadLetter, 'payload'>[] = [];
  let looked = 0;
  do {
    const page = { limit: limit - letters.length, cursor };
    const found = await deadLetters.list(tube, page);
    const meant = found.letters.filter(({ diedAt, why, error }) =>
      matches({ died: diedAt.getTime(), why, error }),
    );
    letters.push(...meant.map(withoutPayload));
    looked += found.letters.length;
    // The newest come first, so no later one matches the filter.
    const over = found.letters.some(({ diedAt }) => diedAt.getTime() < diedFrom);
    cursor = over ? undefined : found.cursor;
  } while (cursor !== undefined && letters.length < limit && looked < MAX_LOOKED_AT);
  return { letters, ...(cursor !== undefined && { cursor }) };
}
