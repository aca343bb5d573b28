/** Handled offsets of a partition, and the offset from which its group continues. */

/** Tracks offsets that are seen in ascending order and handled in any order. */
export class OffsetTrack {
  /** Offsets seen, in order. Those before `head` are handled and no longer needed. */
  private offsets: bigint[] = [];
  private head = 0;
  /** Time each message was stored, parallel to `offsets`. */
  private times: number[] = [];
  /** Handled offsets above an unhandled one. */
  private readonly handledAhead = new Set<bigint>();
  private seenTo: bigint | undefined;

  /** Offset after everything seen or skipped; undefined before the first. */
  get next(): bigint | undefined {
    return this.seenTo;
  }

  /** Offset below which everything is handled; this is what a group commits. Undefined before the first offset is seen. */
  get watermark(): bigint | undefined {
    return this.offsets[this.head] ?? this.seenTo;
  }

  /** Number of offsets seen at or above the watermark, handled or not: those a crash may repeat. */
  get size(): number {
    return this.offsets.length - this.head;
  }

  /** Whether the offset was already seen, so its message is waiting, running or handled. */
  knows(offset: bigint): boolean {
    return this.seenTo !== undefined && offset < this.seenTo;
  }

  /** Time the first unhandled message was stored; undefined if there is none. */
  get oldest(): number | undefined {
    return this.times[this.head];
  }

  /** Whether these are the first unhandled offsets, in order. */
  isNext(offsets: readonly bigint[]): boolean {
    return offsets.every((offset, index) => offset === this.offsets[this.head + index]);
  }

  /** @param time Time the message was stored. */
  seen(offset: bigint, time: number): void {
    this.offsets.push(offset);
    this.times.push(time);
    this.seenTo = offset + 1n;
  }

  /** Skips offsets that transactions or compaction left without a message. */
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
    // Compacts rarely, so that the cost per message is negligible.
    if (this.head < 1024 || this.head * 2 < this.offsets.length) return;
    this.offsets = this.offsets.slice(this.head);
    this.times = this.times.slice(this.head);
    this.head = 0;
  }
}
