import { describe, expect, it } from '@jest/globals';
import { changesOf } from './changes.js';

interface Row {
  readonly id: string;
  readonly at: number;
}
const rows = (text: string): Row[] =>
  text
    .split(' ')
    .filter((each) => each !== '')
    .map((each) => ({ id: each.slice(0, 1), at: Number(each.slice(1)) }));
const order = { idOf: ({ id }: Row) => id, orderOf: ({ at }: Row) => at };

describe('the changes of a list', () => {
  it.each<[string, string, boolean, string, string | undefined, string, number]>([
    ['nothing happened', 'a1 b2', false, 'a1 b2', undefined, '', 0],
    ['the first rows ran', 'a1 b2 c3', false, 'c3', undefined, 'ab', 0],
    ['all ran', 'a1 b2', false, '', undefined, 'ab', 0],
    ['a row is new at the beginning, and one at the end', 'b2 c3', false, 'a1 b2 c3 d4', undefined, '', 2],
    ['more follow, so one behind the last is not new', 'b2 c3', true, 'a1 b2 c3 d4', 'x', '', 1],
    ['a row moved behind those that were read', 'a1 b2 c3', true, 'b2 c3', 'x', 'a', 0],
    ['nothing is known of rows behind those that were read', 'a1 b2 c3 d4', true, 'a1 c3', 'x', 'b', 0],
    ['no row matched in what was read', 'a1 b2', true, '', 'x', '', 0],
    ['there was no row', '', false, 'a1', undefined, '', 1],
  ])('if %s', (_case, shown, hasMore, now, cursor, gone, fresh) => {
    const changes = changesOf(rows(shown), hasMore, { items: rows(now), cursor }, order);
    expect([[...changes.gone].join(''), changes.fresh]).toEqual([gone, fresh]);
  });

  it('has the rows as they are now', () => {
    const changes = changesOf(rows('a1 b2'), false, { items: rows('b5') }, order);
    expect(changes.present.get('b')).toEqual({ id: 'b', at: 5 });
    expect([...changes.gone]).toEqual(['a']);
  });
});
