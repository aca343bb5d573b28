/** How many bytes of messages a process holds, over all its partitions and pushes. */

/** Bytes. Where partitions are so many, a fetch of each costs more than the memory that smaller ones save. */
const LEAST_FETCH = 65_536;

/**
 * Half of it is shared out evenly among the partitions: each may hold that much whatever the others do, and always one batch,
 * so none starves. The other half is for who needs it, pushes included.
 */
export class MemoryBudget {
  private held = 0;
  private partitions = 0;

  constructor(
    private readonly bytes: number,
    /** Bytes of pushes that wait for their answer. */
    private readonly pushing: () => number = () => 0,
  ) {}

  /** Bytes of messages that were fetched and are not handled. */
  get fetched(): number {
    return this.held;
  }

  /** What a partition may hold however scarce memory is. */
  get share(): number {
    return this.bytes / 2 / Math.max(1, this.partitions);
  }

  /** The most that one fetch of a partition should bring, so that it exceeds its share by half of that at most. */
  get fetchBytes(): number {
    return Math.max(LEAST_FETCH, this.share / 2);
  }

  /** Each partition is to keep to its share. */
  get scarce(): boolean {
    return (this.held + this.pushing()) * 2 >= this.bytes;
  }

  /** A partition came. `close` follows. */
  open(): void {
    this.partitions++;
  }

  /** @param bytes Those that the partition still holds. */
  close(bytes: number): void {
    this.partitions--;
    this.held -= bytes;
  }

  /** @param bytes Negative: so many less. */
  add(bytes: number): void {
    this.held += bytes;
  }
}
