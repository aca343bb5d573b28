// LevelDB's tables as described in its doc/table_format.md: blocks, each followed by a type and a masked crc32c, and a footer
// that locates the index of the blocks. LevelDB doesn't compare the checksums on reads, so a flipped bit in a key or an offset
// silently hides entries: tables are checked before LevelDB opens them.
import { Bytes } from './bytes.js';
import { checksumOf } from './checksum.js';

/** Size. */
const FOOTER_BYTES = 48;
const MAGIC = Buffer.from('57fb808b247547db', 'hex');
/** Bytes after a block: its type and its checksum. */
const TRAILER_BYTES = 5;
const SNAPPY = 1;

interface Block {
  readonly at: number;
  /** Offset of its trailer. */
  readonly end: number;
}

/** Whether a byte of a table, except unused ones, isn't as it was written. */
export function isTableDamaged(table: Buffer): boolean {
  try {
    const footer = table.length - FOOTER_BYTES;
    if (footer < 0 || !table.subarray(-MAGIC.length).equals(MAGIC)) return true;
    const places = new Bytes(table.subarray(footer));
    const [metaindex, index] = [readBlock(places), readBlock(places)];
    if (!isIntact(table, index)) return true;
    const blocks = [...blocksOf(contentOf(table, index))];
    // After the blocks with entries there is one with a filter. Together they fill the table.
    const filter = {
      at: (blocks.at(-1)?.end ?? -TRAILER_BYTES) + TRAILER_BYTES,
      end: metaindex.at - TRAILER_BYTES,
    };
    if (filter.end > filter.at) blocks.push(filter);
    blocks.push(metaindex, index);
    const isWhole = blocks.every(({ at }, i) => at === (i === 0 ? 0 : blocks[i - 1]!.end + TRAILER_BYTES));
    return (
      !isWhole || index.end + TRAILER_BYTES !== footer || !blocks.every((block) => isIntact(table, block))
    );
  } catch (error) {
    if (error instanceof RangeError) return true; // a length points outside the table
    throw error;
  }
}

function isIntact(table: Buffer, { at, end }: Block): boolean {
  return (
    end + TRAILER_BYTES <= table.length && checksumOf(table, at, end + 1) === table.readUInt32LE(end + 1)
  );
}

function contentOf(table: Buffer, { at, end }: Block): Buffer {
  const block = table.subarray(at, end);
  return table[end] === SNAPPY ? unpacked(block) : block;
}

/** The blocks listed by an index: the key of each entry is followed by the place of its block. */
function* blocksOf(index: Buffer): Generator<Block> {
  const restarts = index.readUInt32LE(index.length - 4);
  const entries = new Bytes(index.subarray(0, index.length - 4 * (restarts + 1)));
  while (entries.left > 0) {
    entries.varint(); // bytes shared with the previous key
    const [key, place] = [entries.varint(), entries.varint()];
    entries.take(key);
    yield readBlock(new Bytes(entries.take(place)));
  }
}

/** Decodes Snappy's format, for which Node has no codec. */
function unpacked(packed: Buffer): Buffer {
  const from = new Bytes(packed);
  const to = Buffer.alloc(from.varint());
  let at = 0;
  while (from.left > 0) {
    const tag = from.take(1)[0]!;
    const kind = tag & 3;
    if (kind === 0) {
      const more = Math.max(0, (tag >> 2) - 59);
      at += from.take((more > 0 ? from.take(more).readUIntLE(0, more) : tag >> 2) + 1).copy(to, at);
      continue;
    }
    const length = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const back =
      kind === 1 ? ((tag >> 5) << 8) | from.take(1)[0]! : from.take(2 * kind - 2).readUIntLE(0, 2 * kind - 2);
    for (let i = 0; i < length; i++, at++) to[at] = to[at - back]!;
  }
  return to;
}

/** Reads the place of a block: its offset and its length. */
function readBlock(from: Bytes): Block {
  const at = from.varint();
  return { at, end: at + from.varint() };
}
