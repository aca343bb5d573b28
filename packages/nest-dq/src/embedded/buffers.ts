/** A connection, as far as it takes memory. */
export interface Buffering {
  /** Bytes that it has now. */
  readonly buffered: number;
  /** Cuts it, and frees its memory. */
  destroy(): void;
}

/**
 * The bytes that all connections hold in memory: what has come and was not read, and replies that were not taken. Above the
 * limit the connection that has the most is cut, as it is the one that others suffer from.
 */
export class Buffers {
  private total = 0;
  private readonly sizes = new Map<Buffering, number>();

  constructor(
    private readonly limit: number,
    /** Called with what the connection that was cut had. */
    private readonly cut: (bytes: number) => void,
  ) {}

  /** To be called when a connection may have more than before. That it has less is seen when there is too much in all. */
  look(connection: Buffering): void {
    this.count(connection);
    if (this.total <= this.limit) return;
    for (const each of this.sizes.keys()) this.count(each);
    while (this.total > this.limit) this.cutLargest();
  }

  /** A connection is gone. */
  delete(connection: Buffering): void {
    this.total -= this.sizes.get(connection) ?? 0;
    this.sizes.delete(connection);
  }

  private count(connection: Buffering): void {
    const { buffered } = connection;
    this.total += buffered - (this.sizes.get(connection) ?? 0);
    this.sizes.set(connection, buffered);
  }

  private cutLargest(): void {
    const [largest, bytes] = [...this.sizes].reduce((a, b) => (b[1] > a[1] ? b : a));
    this.delete(largest);
    largest.destroy();
    this.cut(bytes);
  }
}
