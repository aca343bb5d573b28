import type { GroupState } from '../health/health.js';

/** A group of this process, with what an operator can do to it. */
export interface OwnGroup extends GroupState {
  handles(topic: string): boolean;
  /**
   * Starts nothing more of the topic, and fetches nothing, until `resume`, even after a rebalance; current runs continue.
   * @param topic Absent for all.
   */
  pause(topic?: string): void;
  resume(topic?: string): void;
  /**
   * Finishes current runs, commits and leaves; then does `work`, and rejoins whatever its result. Rejects as `work`, or with
   * `KQ_CLOSED`. One call at a time.
   */
  outside<T>(work: () => Promise<T>): Promise<T>;
}
