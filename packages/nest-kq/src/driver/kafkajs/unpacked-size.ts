/**
 * Bytes that messages may have once they are unpacked. A broker takes 1 MiB of packed ones at a time, if nobody says otherwise, and they
 * hardly pack better than one to twenty.
 */
export const LARGEST_UNPACKED = 2 ** 27;

/** Throws if messages are said to have more. Call it before there is room for them. */
export function refuseTooLarge(size: number): void {
  if (size > LARGEST_UNPACKED)
    throw new Error(`it says that it holds ${size} bytes: expected at most ${LARGEST_UNPACKED}`);
}
