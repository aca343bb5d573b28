/**
 * The LZ4 frame format:
 *
 *     head     magic (4 bytes), flags, max block size, content size if a flag says so (8 bytes), checksum
 *     blocks   each: data length, whose highest bit marks uncompressed data (4 bytes), data, checksum if
 *              a flag says so (4 bytes)
 *     end      four zero bytes
 */
const FLAGS = 4;
const HAS_SIZE = 0x08;
const HAS_CHECKSUMS = 0x10;
const NOT_PACKED = 0x8000_0000;
const WORD = 4;

/** Returns an upper bound of the decompressed size, in bytes. Invalid or truncated frames are left to the decompressor. */
export function mostUnpacked(frame: Buffer): number {
  if (frame.length < FLAGS + 3) return 0;
  const flags = frame[FLAGS]!;
  const largestBlock = 2 ** (8 + 2 * ((frame[FLAGS + 1]! >> 4) & 7));
  const checksum = flags & HAS_CHECKSUMS ? WORD : 0;
  let most = 0;
  for (let at = FLAGS + 3 + (flags & HAS_SIZE ? 8 : 0); at + WORD <= frame.length;) {
    const word = frame.readUInt32LE(at);
    const length = word % NOT_PACKED;
    const end = at + WORD + length + checksum;
    if (length === 0 || end > frame.length) break;
    most += word >= NOT_PACKED ? length : largestBlock;
    at = end;
  }
  return most;
}
