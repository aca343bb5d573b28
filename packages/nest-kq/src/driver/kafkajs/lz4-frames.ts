/**
 * A frame of LZ4:
 *
 *     head     its mark (4 bytes), flags, the largest block, the size of all if a flag says so (8 bytes), a checksum
 *     blocks   each: the length of its data, whose highest bit says that they are not packed (4 bytes), the data, a checksum if a
 *              flag says so (4 bytes)
 *     end      four zeros
 */
const FLAGS = 4;
const HAS_SIZE = 0x08;
const HAS_CHECKSUMS = 0x10;
const NOT_PACKED = 0x8000_0000;
const WORD = 4;

/** Bytes. No unpacked frame has more. What is no frame, or is cut off, is left to whoever unpacks it. */
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
