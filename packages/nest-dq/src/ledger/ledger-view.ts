/** The ledger, as this process sees it. */
export interface LedgerView {
  /** `redis`: one Redis. `cluster`: a Redis Cluster. `memory`, `disk`: the ledger of an embedded node. */
  readonly kind: 'redis' | 'cluster' | 'memory' | 'disk';
  /** Whether it decides now. While it does not, nothing runs. */
  readonly up: boolean;
  /** Why it does not; absent if it does. */
  readonly reason?: string;
  /**
   * Milliseconds by which this machine's clock is ahead of the ledger's, which alone counts; negative if it is behind. Absent
   * until the ledger's clock was read.
   */
  readonly clockAhead?: number;
  /** The Redis, or each master of a Redis Cluster that is known now. Empty for an embedded node. */
  readonly servers: readonly RedisView[];
  /** What makes a server unfit, each in a sentence that says what to do. */
  readonly problems: readonly string[];
}

/** One Redis server. What it did not tell is absent. */
export interface RedisView {
  /** `host:port`, or the path of a socket. */
  readonly address: string;
  /** Whether it answered within a second. */
  readonly up: boolean;
  /** Why it did not, or which right is missing to ask it; absent if it told everything. */
  readonly reason?: string;
  /** Milliseconds from the question to the answer. */
  readonly roundTrip?: number;
  /** Of Redis. */
  readonly version?: string;
  /** `master` or `slave`, in the words of Redis. */
  readonly role?: string;
  /** Bytes in use. */
  readonly memory?: number;
  /** Bytes, its `maxmemory`; absent if there is no limit. */
  readonly memoryLimit?: number;
  /** Its `maxmemory-policy`. */
  readonly policy?: string;
  /** Whether it writes an append-only file. */
  readonly appendOnly?: boolean;
}
