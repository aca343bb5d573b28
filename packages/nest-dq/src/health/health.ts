/** How a cluster is, as this process sees it. */
export interface DqHealthState {
  /**
   * `down`: fewer nodes than `minWritten` store jobs and let this process reserve them, or Redis does not answer.
   * Fewer than all is up still.
   */
  readonly status: 'up' | 'down';
  /** By endpoint: `up`, or why the node is no good for storing or reserving. */
  readonly nodes: Readonly<Record<string, string>>;
  /** `none`: the ledger is in the memory of this process. */
  readonly redis: 'up' | 'down' | 'none';
}

/** Whether jobs can be kept and run, in the form that @nestjs/terminus takes: `health.check([() => dq.check()])`. Inject it. */
export abstract class DqHealth {
  /**
   * Asks Redis, which takes a second at most; nodes are asked all the time, so of them it is known. Never rejects.
   * @param key The name in the result. Default: `dq`.
   */
  abstract check<Key extends string = 'dq'>(key?: Key): Promise<Record<Key, DqHealthState>>;
}
