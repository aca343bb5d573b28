/** Memory for messages in this process, across all its partitions and pushes. */

/** Min bytes per fetch. With very many partitions, smaller fetches would cost more time than the memory they save is worth. */
const LEAST_FETCH_BYTES = 65_536;

/**
 * Half of the budget is divided evenly among partitions. Each may hold its share regardless of the rest, and always at least one
 * batch, so none starves. The other half goes to whichever needs it, including pushes.
 */
export class MemoryBudget {
  private held = 0;
  private partitions = 0;

  constructor(
    private readonly bytes: number,
    /** Returns the bytes of unacknowledged pushes. */
    private readonly pushing: () => number = () => 0,
  ) {}

  /** Bytes of fetched messages that aren't handled yet. */
  get fetched(): number {
    return this.held;
  }

  /** Bytes a partition may hold, however scarce memory is. */
  get share(): number {
    return this.bytes / 2 / Math.max(1, this.partitions);
  }

  /** Max bytes per fetch of a partition, chosen so that it exceeds its share by at most half. */
  get fetchBytes(): number {
    return Math.max(LEAST_FETCH_BYTES, this.share / 2);
  }

  /** Whether each partition must keep to its share. */
  get scarce(): boolean {
    return (this.held + this.pushing()) * 2 >= this.bytes;
  }

  /** Adds a partition. `close` must follow. */
  open(): void {
    this.partitions++;
  }

  /** @param bytes Bytes the partition still holds. */
  close(bytes: number): void {
    this.partitions--;
    this.held -= bytes;
  }

  /** @param bytes Negative to release. */
  add(bytes: number): void {
    this.held += bytes;
  }
}
