import type { GroupState } from '../health/health.js';

/** A group of this process, with what an operator can have it do. */
export interface OwnGroup extends GroupState {
  handles(topic: string): boolean;
  /**
   * Begins nothing more of the topic, and fetches nothing, until `resume`, also after a rebalance; what runs goes on.
   * @param topic Absent: all.
   */
  pause(topic?: string): void;
  resume(topic?: string): void;
  /**
   * Finishes what runs, commits, and leaves; then does `work`, and joins again, whatever came of it. Rejects as `work`, or
   * with `KQ_CLOSED`. One call at a time.
   */
  outside<T>(work: () => Promise<T>): Promise<T>;
}
