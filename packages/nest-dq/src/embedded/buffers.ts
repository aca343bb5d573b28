/** The memory use of a connection. */
export interface Buffering {
  /** Bytes buffered now. */
  readonly buffered: number;
  /** Cuts it, and frees its memory. */
  destroy(): void;
}

/**
 * The bytes that all connections hold in memory: unread input, and replies not yet sent. Above the limit, the connection that
 * holds the most is cut, since the others suffer from it.
 */
export class Buffers {
  private total = 0;
  private readonly sizes = new Map<Buffering, number>();

  constructor(
    private readonly limit: number,
    /** Called with the number of bytes the cut connection held. */
    private readonly cut: (bytes: number) => void,
  ) {}

  /** Call it when a connection may hold more than before. A decrease is noticed once the total is too large. */
  look(connection: Buffering): void {
    this.count(connection);
    if (this.total <= this.limit) return;
    for (const each of this.sizes.keys()) this.count(each);
    while (this.total > this.limit) this.cutLargest();
  }

  /** Call it when a connection is gone. */
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
