import { wrongValue } from '../errors.js';

/** Max length, in characters. Cursors contain one or two numbers and a job id. */
const LONGEST = 1_000;

type Kind = 'number' | 'string';
type ValuesOf<Shape extends readonly Kind[]> = {
  readonly [I in keyof Shape]: Shape[I] extends 'number' ? number : string;
};

/** Formats a list position as an opaque string. */
export function formatCursor(...values: readonly (number | string)[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

/**
 * Returns the values of a cursor. `DQ_BAD_OPTION` if they match none of the shapes.
 * @param of Where the cursor comes from, for the error.
 */
export function parseCursor<const Shape extends readonly Kind[]>(
  cursor: string,
  of: string,
  ...shapes: readonly Shape[]
): ValuesOf<Shape> {
  const values = valuesIn(cursor);
  const isOf = (shape: Shape) =>
    values.length === shape.length && shape.every((kind, i) => typeof values[i] === kind);
  if (shapes.some(isOf)) return values as ValuesOf<Shape>;
  throw wrongValue('DQ_BAD_OPTION', '`cursor`', cursor, `the \`cursor\` of ${of}`);
}

/** Returns an empty list if it isn't a cursor. */
function valuesIn(cursor: string): readonly unknown[] {
  if (cursor.length > LONGEST) return [];
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(values) ? values : [];
  } catch {
    return [];
  }
}
