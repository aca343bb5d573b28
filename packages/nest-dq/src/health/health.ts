/** How a cluster is, as this process sees it. */
export interface DqHealthState {
  /**
   * `down`: fewer nodes than `minWritten` store jobs and let this process reserve them, or Redis does not answer.
   * If only some of the nodes are down, and enough are left, the cluster is up.
   */
  readonly status: 'up' | 'down';
  /** By endpoint: `up`, or why the node cannot store or reserve. */
  readonly nodes: Readonly<Record<string, string>>;
  /** `none`: the ledger is in the memory of this process. */
  readonly redis: 'up' | 'down' | 'none';
}

/** Whether jobs can be stored and run, in the form that @nestjs/terminus takes: `health.check([() => dq.check()])`. Inject it. */
export abstract class DqHealth {
  /**
   * Asks Redis, which takes at most a second. The state of the nodes is known without asking. Never rejects.
   * @param key The name in the result. Default: `dq`.
   */
  abstract check<Key extends string = 'dq'>(key?: Key): Promise<Record<Key, DqHealthState>>;
}
