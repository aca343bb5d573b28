import type { DeadLetter } from '../api/dead-letter.js';
import type { DqDeadLetters } from '../producer/dead-letters.js';
import { checkLetterFilter, type LetterFilter } from '../operate/letter-filter.js';
import { anything, number, text, time, type Input } from './input.js';

/** The fields of a filter of dead letters. */
export const LETTER_FILTER = ['diedFrom', 'diedTo', 'why', 'error', 'limit'] as const;

/** `DQ_BAD_OPTION`, `DQ_BAD_TIME`. */
export function letterFilter(input: Input): LetterFilter {
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

/** Letters that one answer looks at: each costs a question to a node, as its key is in its copies. */
const MOST_LOOKED_AT = 500;

/** A page of the letters that meet the filter of a query. It throws what `DqDeadLetters.list` throws. */
export async function letterPage(
  deadLetters: DqDeadLetters,
  tube: string,
  query: Input,
): Promise<{ letters: Omit<DeadLetter, 'payload'>[]; cursor?: string }> {
  const { limit = 50, ...filter } = letterFilter(query);
  const { diedFrom, isMeant } = checkLetterFilter(filter);
  let { cursor } = query.part('cursor', text);
  const letters: Omit<DeadLetter, 'payload'>[] = [];
  let looked = 0;
  do {
    const page = { limit: limit - letters.length, cursor };
    const found = await deadLetters.list(tube, page);
    const meant = found.letters.filter(({ diedAt, why, error }) =>
      isMeant({ died: diedAt.getTime(), why, error }),
    );
    letters.push(...meant.map(withoutPayload));
    looked += found.letters.length;
    // The newest come first, so none that follows meets the filter.
    const over = found.letters.some(({ diedAt }) => diedAt.getTime() < diedFrom);
    cursor = over ? undefined : found.cursor;
  } while (cursor !== undefined && letters.length < limit && looked < MOST_LOOKED_AT);
  return { letters, ...(cursor !== undefined && { cursor }) };
}
