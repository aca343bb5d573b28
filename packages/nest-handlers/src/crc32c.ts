/**
 * The Castagnoli checksum, which Kafka's record batches and LevelDB's files use and zlib lacks. Processes eight bytes per step,
 * by Intel's "slicing by 8". Doesn't load Nest.
 * @module nest-handlers/crc32c
 */

/** Indexed by a byte's distance from the end of its step, and by its value. */
const TABLES = Array.from({ length: 8 }, () => new Int32Array(256));

for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  TABLES[0]![byte] = crc;
}
for (let table = 1; table < 8; table++) {
  for (let byte = 0; byte < 256; byte++) {
    const before = TABLES[table - 1]![byte]!;
    TABLES[table]![byte] = TABLES[0]![before & 0xff]! ^ (before >>> 8);
  }
}
const [T0, T1, T2, T3, T4, T5, T6, T7] = TABLES as [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
];

/** Returns the checksum of the bytes from `from` up to, but excluding, `to`, as a signed 32-bit number. */
export function crc32c(bytes: Uint8Array, from: number, to: number): number {
  let crc = -1;
  let at = from;
  for (const last = to - 8; at <= last; at += 8) {
    const low = crc ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    crc =
      T7[low & 0xff]! ^
      T6[(low >>> 8) & 0xff]! ^
      T5[(low >>> 16) & 0xff]! ^
      T4[low >>> 24]! ^
      T3[bytes[at + 4]!]! ^
      T2[bytes[at + 5]!]! ^
      T1[bytes[at + 6]!]! ^
      T0[bytes[at + 7]!]!;
  }
  for (; at < to; at++) crc = T0[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return ~crc;
}
