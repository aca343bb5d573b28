// LevelDB's log as described in its doc/log_format.md: blocks of 32 KiB, with records of a masked crc32c, a length and a type.
// LevelDB silently skips damaged records, so the log is checked before LevelDB opens it.
import { checksumOf } from './checksum.js';

export const BLOCK = 32 * 1024;
export const HEADER = 7;
/** A batch is one record, or one FIRST, any number of MIDDLE that fill blocks, and one LAST. */
export const FULL = 1;
export const FIRST = 2;
export const LAST = 4;

/** The key that the last entry of every batch puts, with a short value. It distinguishes a batch from lookalikes. */
export const LAST_KEY = 'time';
/** Maximum size of that value. */
const LAST_VALUE_BYTES = 32;
/** A put as written by LevelDB: 1, the length of the key, the key; then the length of the value, and the value. */
const LAST_PUT = Buffer.from(`\x01${String.fromCharCode(LAST_KEY.length)}${LAST_KEY}`, 'latin1');

interface LogRecord {
  readonly type: number;
  readonly next: number;
}

/**
 * Whether a log was damaged before its last batch. Each batch is synced before the next one starts. So a crash can only truncate
 * the last batch, or leave zeros in it: no other batch starts after the damage.
 */
export function isDamaged(log: Buffer): boolean {
  let isBroken = false;
  /** Whether the broken batch, or a later one, has ended. */
  let hasEnded = false;
  for (let block = 0; block < log.length; block += BLOCK) {
    const end = Math.min(block + BLOCK, log.length);
    for (let at = block; at + HEADER <= end;) {
      const record = intactRecord(log, at, end);
      if (record) {
        if (isBroken && (hasEnded || begins(record.type))) return true;
        hasEnded ||= isBroken && ends(record.type);
        at = record.next;
      } else {
        isBroken = true;
        // No crash turns one type into another: it is right, or 0.
        hasEnded ||= ends(log[at + HEADER - 1]!);
        if (hidesBatch(log, at + HEADER, end)) return true;
        break;
      }
    }
  }
  return false;
}

/** Whether a batch starts somewhere in the rest of a block, at an unknown byte. */
function hidesBatch(log: Buffer, from: number, end: number): boolean {
  for (let at = from; at + HEADER <= end; at++) {
    const type = log[at + HEADER - 1]!;
    if (!begins(type)) continue;
    const next = nextOf(log, at);
    // The first of several records fills its block. A batch of one record may be inside a value, stemming from another log.
    const isLikely = type === FIRST ? next % BLOCK === 0 : next <= end && isEndOfBatch(log, next);
    if (isLikely && intactRecord(log, at, end)) return true;
  }
  return false;
}

function isEndOfBatch(log: Buffer, end: number): boolean {
  for (let length = 1; length <= LAST_VALUE_BYTES; length++) {
    const value = end - length;
    const put = value - 1 - LAST_PUT.length;
    if (log[value - 1] !== length || put < 0) continue;
    if (log.compare(LAST_PUT, 0, LAST_PUT.length, put, value - 1) === 0) return true;
  }
  return false;
}

const begins = (type: number) => type === FULL || type === FIRST;
const ends = (type: number) => type === FULL || type === LAST;

function nextOf(log: Buffer, at: number): number {
  return at + HEADER + (log[at + 4]! | (log[at + 5]! << 8));
}

export function intactRecord(log: Buffer, at: number, end: number): LogRecord | undefined {
  const type = log[at + HEADER - 1]!;
  const next = nextOf(log, at);
  if (next > end || type < FULL || type > LAST) return undefined;
  const stored = (log[at]! | (log[at + 1]! << 8) | (log[at + 2]! << 16) | (log[at + 3]! << 24)) >>> 0;
  return checksumOf(log, at + HEADER - 1, next) === stored ? { type, next } : undefined;
}
