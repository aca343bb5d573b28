// LevelDB's log as its doc/log_format.md describes it: blocks of 32 KiB, and in them records of a masked crc32c, a length
// and a type. LevelDB skips what it finds damaged there and goes on without a word, so it is looked at before LevelDB is.

const BLOCK = 32 * 1024;
const HEADER = 7;
const FULL = 1;
const FIRST = 2;
const LAST_TYPE = 4;

/**
 * Whether a record of a log was damaged. What a crash cut short is at its end: behind that, no other batch was begun, as
 * each is awaited before the next is written.
 */
export function isDamaged(log: Uint8Array): boolean {
  let broken = false;
  for (let block = 0; block < log.length; block += BLOCK) {
    const end = Math.min(block + BLOCK, log.length);
    for (let at = block; at + HEADER <= end;) {
      const length = log[at + 4]! | (log[at + 5]! << 8);
      const type = log[at + 6]!;
      const next = at + HEADER + length;
      if (next > end || type < FULL || type > LAST_TYPE || !isIntact(log, at, next)) {
        broken = true;
        break; // where the next record begins is known of the next block only
      }
      if (broken && (type === FULL || type === FIRST)) return true;
      at = next;
    }
  }
  return false;
}

function isIntact(log: Uint8Array, at: number, end: number): boolean {
  const stored = (log[at]! | (log[at + 1]! << 8) | (log[at + 2]! << 16) | (log[at + 3]! << 24)) >>> 0;
  const crc = crc32c(log, at + HEADER - 1, end);
  const masked = (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
  return masked === stored;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc >>> 0;
});

/** The checksum of Castagnoli, which zlib does not have. */
function crc32c(bytes: Uint8Array, from: number, to: number): number {
  let crc = 0xffffffff;
  for (let at = from; at < to; at++) crc = TABLE[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
