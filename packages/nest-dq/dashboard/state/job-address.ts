import type { JobRefWire } from '../../src/dashboard/wire.js';

/** The job that an address names; undefined if it names none. */
export function jobIn(query: Readonly<Record<string, string>>): JobRefWire | undefined {
  const { ref, tube, id, key } = query;
  if (ref !== undefined) return { ref };
  if (tube === undefined) return undefined;
  if (id !== undefined) return { tube, id };
  return key === undefined ? undefined : { tube, key };
}

/** The `ref` in what a person pastes: the text itself, or a receipt as JSON. Undefined: it may be an id or a key. */
export function refIn(text: string): string | undefined {
  const given = text.trim();
  if (given.startsWith('dq1.')) return given;
  if (!given.startsWith('{')) return undefined;
  let receipt: unknown;
  try {
    receipt = JSON.parse(given);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // a key may begin so, too
    throw error;
  }
  const { ref } = receipt as { readonly ref?: unknown };
  return typeof ref === 'string' ? ref : undefined;
}
