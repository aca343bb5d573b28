/** A message as its handler sees it. A class, so it can be used in decorated signatures; created by the library only. */
export abstract class KqMessage<V = unknown> {
  /** Topic name. */
  abstract readonly topic: string;
  /** Partition number, from 0. */
  abstract readonly partition: number;
  /** Offset in the partition, in decimal digits; use `BigInt(offset)` to calculate with it. */
  abstract readonly offset: string;
  /** In ms since 1970, set by the producer, or by the broker if the topic is configured that way. */
  abstract readonly timestamp: number;
  /** The key as UTF-8, or null if there is none. */
  abstract readonly key: string | null;
  /** The raw key, or null if there is none. */
  abstract readonly keyBytes: Buffer | null;
  /** The first argument of the handler, before pipes. Null for a tombstone. */
  abstract readonly value: V | null;
  /** By name: the value itself, or a list if there are several. Has no prototype, so any name is safe to look up. */
  abstract readonly headers: Readonly<Record<string, Buffer | readonly Buffer[]>>;
  /** 1 on the first run in this process. */
  abstract readonly attempt: number;
  /** Max runs; Infinity for no limit. */
  abstract readonly attempts: number;
  /**
   * Aborts when the handler's `timeout` expires (with `KQ_TIMEOUT` as the reason), when the partition moves to another process,
   * or when a shutdown stops waiting. The handler's result is ignored after that.
   */
  abstract readonly signal: AbortSignal;

  /** Returns the first value of a header, as UTF-8. */
  abstract header(name: string): string | undefined;
}
