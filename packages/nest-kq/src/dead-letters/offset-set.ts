const BITS = 15n;
const MASK = (1n << BITS) - 1n;

/** A set of offsets, one bit each, for as many as a topic has letters. */
export class OffsetSet {
  private readonly blocks = new Map<bigint, Uint8Array>();

  add(offset: bigint): void {
    const number = offset >> BITS;
    let block = this.blocks.get(number);
    if (!block) this.blocks.set(number, (block = new Uint8Array(2 ** Number(BITS - 3n))));
    const bit = Number(offset & MASK);
    block[bit >> 3]! |= 1 << (bit & 7);
  }

  has(offset: bigint): boolean {
    const bit = Number(offset & MASK);
    const byte = this.blocks.get(offset >> BITS)?.[bit >> 3] ?? 0;
    return (byte & (1 << (bit & 7))) !== 0;
  }

  /** Drops blocks that lie entirely below the offset. */
  dropBelow(offset: bigint): void {
    for (const number of this.blocks.keys()) if (number < offset >> BITS) this.blocks.delete(number);
  }

  clear(): void {
    this.blocks.clear();
  }
}
