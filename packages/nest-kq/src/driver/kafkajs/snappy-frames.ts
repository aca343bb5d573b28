import { refuseTooLarge } from './unpacked-size.js';

/**
 * Snappy as Java's clients write it. Their library frames blocks with a header; others write a single bare block:
 *
 *     head    0x82 "SNAPPY" 0x00, version and oldest compatible version (4 bytes each)
 *     block   its length (4 bytes), the block
 */
const HEAD = Buffer.from('\x82SNAPPY\0', 'latin1');
const VERSIONS = 8;
const LENGTH = 4;

/** Decompresses either form. Rejects if a block is truncated. */
export async function unpackSnappy(
  data: Buffer,
  unpackBlock: (block: Buffer) => Promise<Buffer>,
): Promise<Buffer> {
  const hasHead = data.subarray(0, HEAD.length).equals(HEAD);
  const blocks = hasHead ? blocksOf(data) : [data];
  // Checked first: the buffer for everything would be allocated before a byte is read.
  refuseTooLarge(blocks.reduce((sum, block) => sum + sizeOf(block), 0));
  const unpacked = await Promise.all(blocks.map(unpackBlock));
  return hasHead ? Buffer.concat(unpacked) : unpacked[0]!;
}

/** Returns the decompressed size a block declares: a varint at its start. */
function sizeOf(block: Buffer): number {
  let size = 0;
  for (let at = 0; at < 5; at++) {
    const byte = block[at] ?? 0;
    size += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) break;
  }
  return size;
}

function blocksOf(data: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = HEAD.length + VERSIONS; at < data.length;) {
    const start = at + LENGTH;
    const end = start <= data.length ? start + data.readInt32BE(at) : Infinity;
    if (end < start || end > data.length) throw new Error(`the snappy block at byte ${at} is truncated`);
    blocks.push(data.subarray(start, end));
    at = end;
  }
  return blocks;
}
