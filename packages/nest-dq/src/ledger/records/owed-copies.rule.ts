// Which copies of a job may still exist: the same rules as records/owed-copies.lua.ts, which explains the sum and the marks.
import type { AnnouncedGeneration, OwedCopies, SettledCopies } from '../requests.js';
import { abortOpened, type AbortingRecord } from '../schedules/aborted.rule.js';

/** A record's owed copies, and what they depend on. */
export interface OwedRecord extends AbortingRecord {
  readonly due: number;
  owed: { readonly due: number; readonly mask: number; readonly unknown: boolean } | undefined;
  sum: number;
  sumDue: number;
  readonly counted: boolean;
  lostDue: number;
}

/** A prime below 2 ** 26: the product of two remainders is a safe integer. */
const PRIME = 67_108_859;
const MARKS = PRIME * PRIME;

/** Records owed copies of the committed generation. What is settled stays settled, although a header keeps naming every copy. */
export function owe(record: OwedRecord, due: number, owed: OwedCopies): void {
  if (record.counted) {
    if (record.sum !== 0) record.sumDue = Math.max(record.sumDue, due);
    if (owed.unknown) lose(record, due);
    return;
  }
  const known = record.owed;
  if (!known) setOwed(record, due, owed);
  else {
    const mask = known.mask === 0 ? owed.mask : known.mask;
    setOwed(record, Math.max(known.due, due), { mask, unknown: known.unknown || owed.unknown });
  }
}

/** Adds the copies announced by an opening. */
export function count(record: OwedRecord, generation: number, due: number, mask: number): void {
  if (mask === 0) return;
  record.sum = (record.sum + marksOf(generation, mask)) % MARKS;
  record.sumDue = Math.max(record.sumDue, due);
}

/** Moves the mask into the sum, because another generation is about to be committed. */
export function countOwed(record: OwedRecord): void {
  const { owed } = record;
  if (!owed) return;
  count(record, record.committed, owed.due, owed.mask);
  if (owed.unknown) lose(record, owed.due);
  record.owed = undefined;
}

/** Narrows the announced copies of an opening to those that may exist. A record lost since then doesn't know of the opening. */
export function narrow(
  record: OwedRecord,
  { generation, due, announced, owed }: Omit<AnnouncedGeneration, 'places'>,
): void {
  if (generation > record.opened) {
    count(record, generation, due, owed.mask);
  } else {
    if (record.sum !== 0) record.sumDue = Math.max(record.sumDue, due);
    discount(record, generation, announced & ~owed.mask);
  }
  if (owed.unknown) lose(record, due);
}

/** Removes copies that are gone for good; returns false if that changes nothing. */
export function settle(record: OwedRecord, { generation, mask, unknown }: SettledCopies): boolean {
  if (generation === record.committed && !record.counted) {
    const known = record.owed;
    if (!known && !unknown) return false;
    const { due, mask: oldMask, unknown: oldUnknown } = known ?? { due: record.due, mask: 0, unknown };
    setOwed(record, due, { mask: oldMask & ~mask, unknown: oldUnknown || unknown });
    return true;
  }
  if (record.sum === 0 && !unknown) return false;
  if (unknown) lose(record, Math.max(record.sumDue, record.due));
  discount(record, generation, mask);
  return true;
}

/** Remembers that a copy of unknown outcome may exist, until it would be stale. */
export function lose(record: OwedRecord, due: number): void {
  record.lostDue = Math.max(record.lostDue, due);
}

function discount(record: OwedRecord, generation: number, mask: number): void {
  if (mask === 0 || record.sum === 0) return;
  record.sum = (record.sum - marksOf(generation, mask) + MARKS) % MARKS;
  if (record.sum > 0) return;
  record.sumDue = 0;
  if (record.lostDue !== 0) return;
  // No copy of an opened generation is left, so a late commit must not make one the job.
  record.aborted = [];
  abortOpened(record, record.committed);
}

/** Drops copies that are neither in the mask nor unknown. */
function setOwed(record: OwedRecord, due: number, { mask, unknown }: OwedCopies): void {
  record.owed = mask !== 0 || unknown ? { due, mask, unknown } : undefined;
}

function marksOf(generation: number, mask: number): number {
  let sum = 0;
  for (let index = 0; mask >> index > 0; index++) {
    if ((mask >> index) & 1) sum = (sum + markOf(generation, index)) % MARKS;
  }
  return sum;
}

function markOf(generation: number, index: number): number {
  const x = ((generation % PRIME) + Math.floor(generation / PRIME) * 40_503 + index * 7_919) % PRIME;
  const y = (x * x) % PRIME;
  return y * PRIME + ((x * y + x) % PRIME);
}
