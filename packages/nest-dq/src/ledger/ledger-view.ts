/** The ledger as this process sees it. */
export interface LedgerView {
  /** `redis`: a single Redis. `cluster`: a Redis Cluster. `memory`, `disk`: the ledger of an embedded node. */
  readonly kind: 'redis' | 'cluster' | 'memory' | 'disk';
  /** Whether it decides now. Nothing runs while it doesn't. */
  readonly up: boolean;
  /** Why it doesn't decide; absent if it does. */
  readonly reason?: string;
  /**
   * How far this machine's clock is ahead of the ledger's, in ms; negative if it is behind. Only the ledger's clock counts.
   * Absent until it has been read.
   */
  readonly clockAhead?: number;
  /** The Redis, or each known master of a Redis Cluster. Empty for an embedded node. */
  readonly servers: readonly RedisView[];
  /** Reasons why a server is unfit, each as a sentence that says what to do. */
  readonly problems: readonly string[];
}

/** One Redis server. Values it didn't report are absent. */
export interface RedisView {
  /** `host:port`, or the path of a socket. */
  readonly address: string;
  /** Whether it answered within a second. */
  readonly up: boolean;
  /** Why it didn't answer, or which permission is missing; absent if it reported everything. */
  readonly reason?: string;
  /** Round-trip time, in ms. */
  readonly roundTrip?: number;
  /** Version of Redis. */
  readonly version?: string;
  /** `master` or `slave`, in Redis terms. */
  readonly role?: string;
  /** Used memory, in bytes. */
  readonly memory?: number;
  /** `maxmemory`, in bytes; absent if there is no limit. */
  readonly memoryLimit?: number;
  /** Memory of its machine, in bytes. */
  readonly machineMemory?: number;
  /** `maxmemory-policy`. */
  readonly policy?: string;
  /** Whether it writes an append-only file. */
  readonly appendOnly?: boolean;
}
