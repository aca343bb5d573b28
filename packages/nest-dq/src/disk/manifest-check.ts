import { BLOCK, FIRST, FULL, HEADER, intactRecord, LAST } from './log-check.js';

// What begins a record of a manifest, as LevelDB's db/version_edit.cc writes it.
const COMPARATOR = 1;
const LOG_NUMBER = 2;

/**
 * If the end of a manifest cannot be read: the number of the log that the part before it names. Undefined if all of it can
 * be read. LevelDB silently goes by the part that it can read. After a crash that is right, as a log is deleted only once
 * the next record is on disk. So if that log is missing, the record had been written, and was lost.
 */
export function logOfTornManifest(manifest: Buffer): number | undefined {
  let begun: number | undefined;
  let found: number | undefined;
  for (let block = 0; block < manifest.length; block += BLOCK) {
    const end = Math.min(block + BLOCK, manifest.length);
    let at = block;
    while (at + HEADER <= end) {
      const record = intactRecord(manifest, at, end);
      if (!record) return found;
      const { type, next } = record;
      if (type === FULL || type === FIRST) begun = readLogNumber(manifest.subarray(at + HEADER, next));
      if (type === FULL || type === LAST) found = begun ?? found;
      at = next;
    }
    if (at < end && end === manifest.length) return found;
  }
  return undefined;
}

function readLogNumber(record: Buffer): number | undefined {
  let at = record[0] === COMPARATOR ? 2 + record[1]! : 0;
  if (record[at++] !== LOG_NUMBER) return undefined;
  let number = 0;
  for (let scale = 1; at < record.length; scale *= 128) {
    const byte = record[at++]!;
    number += (byte & 0x7f) * scale;
    if (byte < 0x80) return number;
  }
  return undefined;
}
