// Which generations were opened and can never be committed: the same rules as records/record.lua.ts.

/** Consecutive generations. */
interface AbortedRange {
  from: number;
  to: number;
}

export interface AbortingRecord {
  readonly committed: number;
  readonly opened: number;
  /** The first generation this record has seen opened; negative if `opened` is the first. */
  readonly firstOpened: number;
  aborted: AbortedRange[];
}

export function isAborted({ aborted }: Pick<AbortingRecord, 'aborted'>, generation: number): boolean {
  return aborted.some(({ from, to }) => generation >= from && generation <= to);
}

export function addAborted({ aborted }: AbortingRecord, generation: number): void {
  const before = aborted.find(({ to }) => to + 1 === generation);
  if (before) before.to = generation;
  else aborted.push({ from: generation, to: generation });
}

/** The first generation this record has seen opened. */
function firstOpened({ opened, firstOpened: first }: AbortingRecord): number {
  return first < 0 ? opened : first;
}

/** False if Redis has lost the record in which the generation was opened. */
export function wasOpened(record: AbortingRecord, generation: number): boolean {
  return generation >= firstOpened(record) && generation <= record.opened;
}

/**
 * Aborts every generation that was opened and not committed. If the record doesn't know what was committed before, because Redis
 * lost it, it aborts only those it has seen opened: an older one may be the job.
 * @param before The generation that was committed before this call's verb.
 */
export function abortOpened(record: AbortingRecord, before: number): void {
  const { committed, opened } = record;
  if (opened <= committed) return;
  const from = Math.max(committed + 1, before < 0 ? firstOpened(record) : 0);
  dropAborted(record, from, opened);
  record.aborted.push({ from, to: opened });
}

/** Forgets that generations are aborted. */
export function dropAborted(record: Pick<AbortingRecord, 'aborted'>, from: number, to: number): void {
  const outside = record.aborted.flatMap((range) => [
    { from: range.from, to: Math.min(range.to, from - 1) },
    { from: Math.max(range.from, to + 1), to: range.to },
  ]);
  record.aborted = outside.filter((range) => range.from <= range.to);
}
