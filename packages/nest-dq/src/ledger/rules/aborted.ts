// Which generations were opened and can never be committed: the same rules as redis/parts/record.ts.

/** Consecutive generations. */
export interface AbortedRange {
  from: number;
  to: number;
}

export interface AbortingRecord {
  readonly committed: number;
  readonly opened: number;
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

/**
 * Aborts every generation that was opened and not committed. If the record doesn't know what was committed before, because Redis
 * lost it, it aborts only the last one: an older generation may be the job.
 * @param before The generation that was committed before this call's verb.
 */
export function abortOpened(record: AbortingRecord, before: number): void {
  const { committed, opened } = record;
  if (opened <= committed) return;
  if (before < 0) {
    if (!isAborted(record, opened)) addAborted(record, opened);
    return;
  }
  keepAbortedAbove(record, opened);
  record.aborted.push({ from: committed + 1, to: opened });
}

export function keepAbortedAbove(record: AbortingRecord, generation: number): void {
  record.aborted = record.aborted
    .filter(({ to }) => to > generation)
    .map(({ from, to }) => ({ from: Math.max(from, generation + 1), to }));
}
