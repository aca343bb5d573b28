/**
 * Max decompressed size of messages. By default a broker accepts 1 MiB of compressed messages at a time, and real data
 * hardly compresses better than 20:1.
 */
export const LARGEST_UNPACKED_BYTES = 2 ** 27;

/** Throws if the declared size is larger. Call before allocating. */
export function refuseTooLarge(size: number): void {
  if (size > LARGEST_UNPACKED_BYTES)
    throw new Error(`its declared size is ${size} bytes: expected at most ${LARGEST_UNPACKED_BYTES}`);
}
