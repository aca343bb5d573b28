import type { JobRefWire } from '../../src/dashboard/wire.js';

/** The job that an address names; undefined if it names none. */
export function jobIn(query: Readonly<Record<string, string>>): JobRefWire | undefined {
  const { ref, tube, id, key } = query;
  if (ref !== undefined) return { ref };
  if (tube === undefined) return undefined;
  if (id !== undefined) return { tube, id };
  return key === undefined ? undefined : { tube, key };
}
