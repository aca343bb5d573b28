import { describe, expect, it } from '@jest/globals';
import { formatCursor, parseCursor } from './cursor.js';

describe('a cursor', () => {
  const parse = (cursor: unknown) =>
    parseCursor(cursor as string, 'the previous page', ['number'], ['number', 'number', 'string']);

  it.each([[[1]], [[1.5, 2, '☂ "x"']]])('brings its values back: %j', (values) => {
    const cursor = formatCursor(...values);
    expect(cursor).toMatch(/^[\w-]+$/);
    expect(parse(cursor)).toEqual(values);
  });

  it.each<[string, unknown]>([
    ['no text', 5],
    ['no JSON', 'x'],
    ['no list', Buffer.from('{"a":1}').toString('base64url')],
    ['an empty list', formatCursor()],
    ['too short', formatCursor(1, 2)],
    ['too long', formatCursor(1, 2, 'a', 'b')],
    ['of other values', formatCursor(1, 'a', 2)],
  ])('is refused, with its value, if it is %s', (_what, cursor) => {
    const shown = typeof cursor === 'string' ? `"${cursor}"` : String(cursor);
    expect(() => parse(cursor)).toThrow(
      `DQ_BAD_OPTION: \`cursor\` is ${shown}: expected the \`cursor\` of the previous page`,
    );
  });
});
