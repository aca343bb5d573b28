/** Which partition a key belongs to: as Java's client has it, so that producers in any language agree. */

const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/** Kafka's own variant of MurmurHash2, as a signed number of 32 bits. */
export function murmur2(bytes: Uint8Array): number {
  const { length } = bytes;
  const at = (index: number): number => bytes[index] ?? 0;
  let hash = SEED ^ length;
  const whole = length & ~3;
  for (let index = 0; index < whole; index += 4) {
    let word = at(index) | (at(index + 1) << 8) | (at(index + 2) << 16) | (at(index + 3) << 24);
    word = Math.imul(word, M);
    word ^= word >>> 24;
    hash = Math.imul(hash, M) ^ Math.imul(word, M);
  }
  if (whole < length) {
    hash ^= at(whole) | (at(whole + 1) << 8) | (at(whole + 2) << 16);
    hash = Math.imul(hash, M);
  }
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return hash ^ (hash >>> 15);
}

/** @param partitions How many the topic has. */
export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}
