/**
 * Snappy as Java's clients write it. Their library puts blocks behind a head; others write one block with neither:
 *
 *     head    0x82 "SNAPPY" 0x00, version and oldest compatible version (4 bytes each)
 *     block   its length (4 bytes), the block
 */
const HEAD = Buffer.from('\x82SNAPPY\0', 'latin1');
const VERSIONS = 8;
const LENGTH = 4;

/** What both ways of writing it hold. Rejects where a block is not whole. */
export async function unpackSnappy(
  data: Buffer,
  unpackBlock: (block: Buffer) => Promise<Buffer>,
): Promise<Buffer> {
  if (!data.subarray(0, HEAD.length).equals(HEAD)) return unpackBlock(data);
  return Buffer.concat(await Promise.all(blocksOf(data).map(unpackBlock)));
}

function blocksOf(data: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = HEAD.length + VERSIONS; at < data.length;) {
    const start = at + LENGTH;
    const end = start <= data.length ? start + data.readInt32BE(at) : Infinity;
    if (end < start || end > data.length) throw new Error(`a block of snappy at byte ${at} is not whole`);
    blocks.push(data.subarray(start, end));
    at = end;
  }
  return blocks;
}
