import { crc32c } from 'nest-handlers/crc32c';

/** The checksum of the bytes from `from` to `to`, masked, as LevelDB stores it. */
export function checksumOf(bytes: Uint8Array, from: number, to: number): number {
  const crc = crc32c(bytes, from, to);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
