/** Memory for messages in this process, over all its partitions and pushes. */

/** Min bytes of a fetch: with very many partitions, a fetch each costs more than the memory smaller ones save. */
const LEAST_FETCH_BYTES = 65_536;

/**
 * Half of the budget is divided evenly among partitions: each may hold that much whatever the others do, and always one batch,
 * so none starves. The other half goes to whoever needs it, including pushes.
 */
export class MemoryBudget {
  private held = 0;
  private partitions = 0;

  constructor(
    private readonly bytes: number,
    /** Bytes of pushes waiting for an answer. */
    private readonly pushing: () => number = () => 0,
  ) {}

  /** Bytes of fetched messages that aren't handled. */
  get fetched(): number {
    return this.held;
  }

  /** Bytes a partition may hold however scarce memory is. */
  get share(): number {
    return this.bytes / 2 / Math.max(1, this.partitions);
  }

  /** Max bytes of one fetch of a partition, so that it exceeds its share by at most half. */
  get fetchBytes(): number {
    return Math.max(LEAST_FETCH_BYTES, this.share / 2);
  }

  /** Whether each partition must keep to its share. */
  get scarce(): boolean {
    return (this.held + this.pushing()) * 2 >= this.bytes;
  }

  /** Adds a partition. `close` follows. */
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
