import { crc32c } from 'nest-handlers/crc32c';

/** The masked checksum of the bytes from `from` to `to`, as LevelDB stores it. */
export function checksumOf(bytes: Uint8Array, from: number, to: number): number {
  const crc = crc32c(bytes, from, to);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
