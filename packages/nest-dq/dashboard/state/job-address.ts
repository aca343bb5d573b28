import type { JobRefWire } from '../../src/dashboard/wire.js';

/** Names a job by its key, if it has one: that is what people, and the list of acts, know it by. */
export function refOf({
  tube,
  id,
  key,
}: {
  readonly tube: string;
  readonly id: string;
  readonly key?: string | undefined;
}): JobRefWire & Record<string, string> {
  return key === undefined ? { tube, id } : { tube, key };
}

/** The job that an address names; undefined if it names none. */
export function jobIn(query: Readonly<Record<string, string>>): JobRefWire | undefined {
  const { ref, tube, id, key } = query;
  if (ref !== undefined) return { ref };
  if (tube === undefined) return undefined;
  if (id !== undefined) return { tube, id };
  return key === undefined ? undefined : { tube, key };
}
