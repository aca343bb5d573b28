/** Which offsets of a partition are handled, and from where its group goes on. */

/** Offsets are seen in growing order, and handled in any. */
export class OffsetTrack {
  /** Those that were seen from the watermark on, in order; the ones before `head` are handled and gone. */
  private offsets: bigint[] = [];
  private head = 0;
  /** In the order of `offsets`, when each was stored. */
  private times: number[] = [];
  /** Of `offsets`, those that are handled behind one that is not. */
  private readonly handledAhead = new Set<bigint>();
  private seenTo: bigint | undefined;

  /** The offset after all that was seen, gaps included; undefined before the first. */
  get next(): bigint | undefined {
    return this.seenTo;
  }

  /** All below it is handled, and nothing else: what a group commits. Undefined before the first was seen. */
  get watermark(): bigint | undefined {
    return this.offsets[this.head] ?? this.seenTo;
  }

  /** Those that were seen from the watermark on, handled or not: what a crash may bring back. */
  get size(): number {
    return this.offsets.length - this.head;
  }

  /** Whether it was seen, and so is waiting, running or handled. */
  knows(offset: bigint): boolean {
    return this.seenTo !== undefined && offset < this.seenTo;
  }

  /** When the first that is not handled was stored; undefined: there is none. */
  get oldest(): number | undefined {
    return this.times[this.head];
  }

  /** Whether these are the first ones that are not handled, in their order. */
  isNext(offsets: readonly bigint[]): boolean {
    return offsets.every((offset, index) => offset === this.offsets[this.head + index]);
  }

  /** @param time When it was stored. */
  seen(offset: bigint, time: number): void {
    this.offsets.push(offset);
    this.times.push(time);
    this.seenTo = offset + 1n;
  }

  /** There is nothing from the last one that was seen up to here: a gap by transactions or compaction. */
  skipTo(next: bigint): void {
    if (this.seenTo === undefined || next > this.seenTo) this.seenTo = next;
  }

  handled(offset: bigint): void {
    if (offset !== this.offsets[this.head]) {
      this.handledAhead.add(offset);
      return;
    }
    this.head++;
    while (this.handledAhead.size > 0 && this.head < this.offsets.length) {
      if (!this.handledAhead.delete(this.offsets[this.head]!)) break;
      this.head++;
    }
    // Now and then, so that it costs nothing for each message.
    if (this.head < 1024 || this.head * 2 < this.offsets.length) return;
    this.offsets = this.offsets.slice(this.head);
    this.times = this.times.slice(this.head);
    this.head = 0;
  }
}
