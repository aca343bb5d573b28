// Which copies of a job may still exist: the same rules as redis/parts/owed-copies.ts, which says what sum and marks are.
import type { AnnouncedGeneration, OwedCopies, SettledCopies } from '../requests.js';
import { abortOpened, type AbortingRecord } from './aborted.js';

/** What a record says of its owed copies, and what that depends on. */
export interface OwedRecord extends AbortingRecord {
  readonly due: number;
  owed: { readonly due: number; readonly mask: number; readonly unknown: boolean } | undefined;
  sum: number;
  sumDue: number;
  readonly counted: boolean;
  lostDue: number;
}

/** A prime below 2 ** 26: no product of two remainders is beyond the integers that a number holds. */
const PRIME = 67_108_859;
const MARKS = PRIME * PRIME;

/** Of the committed generation. What is settled already stays settled, although a header goes on naming every copy. */
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

/** The copies that an opening announces. */
export function count(record: OwedRecord, generation: number, due: number, mask: number): void {
  if (mask === 0) return;
  record.sum = (record.sum + marksOf(generation, mask)) % MARKS;
  record.sumDue = Math.max(record.sumDue, due);
}

/** From the mask to the sum: another generation is about to be the committed one. */
export function countOwed(record: OwedRecord): void {
  const { owed } = record;
  if (!owed) return;
  count(record, record.committed, owed.due, owed.mask);
  if (owed.unknown) lose(record, owed.due);
  record.owed = undefined;
}

/** Which of the copies that an opening announced really may exist. A record that was lost since knows of no opening. */
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

/** Takes copies away that are gone for good; false if that changes nothing. */
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

/** That a copy of unknown fate may exist is never forgotten, until it would be stale. */
export function lose(record: OwedRecord, due: number): void {
  record.lostDue = Math.max(record.lostDue, due);
}

function discount(record: OwedRecord, generation: number, mask: number): void {
  if (mask === 0 || record.sum === 0) return;
  record.sum = (record.sum - marksOf(generation, mask) + MARKS) % MARKS;
  if (record.sum > 0) return;
  record.sumDue = 0;
  if (record.lostDue !== 0) return;
  // No copy of an opened generation is left, so a commit that still comes must not make one the job.
  record.aborted = [];
  abortOpened(record, record.committed);
}

/** What is neither in the mask nor unknown is dropped. */
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
