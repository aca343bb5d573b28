/** A message as its handler sees it. A class, so that it can stand in decorated signatures; made by the library only. */
export abstract class KqMessage<V = unknown> {
  abstract readonly topic: string;
  abstract readonly partition: number;
  /** Its place in the partition, in decimal digits; `BigInt(offset)` counts with it. */
  abstract readonly offset: string;
  /** Milliseconds since 1970: its producer's, or the broker's where the topic says so. */
  abstract readonly timestamp: number;
  /** As UTF-8; null: it has none. */
  abstract readonly key: string | null;
  /** Null: it has none. */
  abstract readonly keyBytes: Buffer | null;
  /** The first argument of the handler, before pipes. Null: a tombstone. */
  abstract readonly value: V | null;
  /** A name with one value has the value itself, a name with several has their list. Inherits nothing: any name may be looked up. */
  abstract readonly headers: Readonly<Record<string, Buffer | readonly Buffer[]>>;
  /** 1 on the first run in this process. */
  abstract readonly attempt: number;
  /** The most runs that there can be; Infinity: no limit. */
  abstract readonly attempts: number;
  /**
   * Aborts when the handler's `timeout` is over, its reason `KQ_TIMEOUT`; when the partition is another process's; or when a
   * shutdown waits no longer. What the handler says after that does not count.
   */
  abstract readonly signal: AbortSignal;

  /** The first value of a header, as UTF-8. */
  abstract header(name: string): string | undefined;
}
