import type { DeadLetter } from '../api/dead-letter.js';
import type { DeadPage } from '../operate/dead-view.js';
import type { ClusterInspector } from '../operate/inspector.js';
import type { DeadLetterFilter } from '../operate/letter-filter.js';
import { anything, isSet, number, text, time, type Input } from './input.js';

/** The fields of a filter of dead letters. */
export const LETTER_FILTER = ['diedFrom', 'diedTo', 'why', 'error', 'group', 'limit'] as const;

/** Throws `DQ_BAD_OPTION`, `DQ_BAD_TIME`. */
export function letterFilter(input: Input): DeadLetterFilter {
  return {
    ...input.part('diedFrom', time),
    ...input.part('diedTo', time),
    ...input.part('why', anything<DeadLetter['why']>),
    ...input.part('error', text),
    ...input.part('group', text),
    ...input.part('limit', number),
  };
}

/** For a list, or an example. */
export function withoutPayload(letter: DeadLetter): Omit<DeadLetter, 'payload' | 'encoded'> {
  const { payload: _payload, encoded: _encoded, ...rest } = letter;
  return rest;
}

/** The fields of a query for a page of letters. */
export const LETTER_PAGE = [...LETTER_FILTER, 'cursor', 'count', 'brief'] as const;

/** Resolves with a page of the letters that match the filter of a query. Rejects as `ClusterInspector.deadPage` does. */
export async function letterPage(
  inspector: ClusterInspector,
  tube: string | undefined,
  query: Input,
): Promise<Omit<DeadPage, 'letters'> & { letters: Omit<DeadLetter, 'payload' | 'encoded'>[] }> {
  const { letters, ...rest } = await inspector.deadPage({
    filter: letterFilter(query),
    tube,
    ...query.part('cursor', text),
    ...query.part('count', isSet),
    ...query.part('brief', isSet),
  });
  return { letters: letters.map(withoutPayload), ...rest };
}
