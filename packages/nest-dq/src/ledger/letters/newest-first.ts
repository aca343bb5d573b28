import { letterName } from '../records/records.js';
import type { Letter } from '../requests.js';

type Position = Pick<Letter, 'died' | 'id' | 'born'>;

/** The order of all lists of dead letters; those of one millisecond by their names in descending order. */
export function newestFirst(a: Position, b: Position): number {
  if (a.died !== b.died) return b.died - a.died;
  const [first, second] = [letterName(a.id, a.born), letterName(b.id, b.born)];
  return first === second ? 0 : first < second ? 1 : -1;
}
