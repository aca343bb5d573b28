/** Who may run a job of go-queue's dq: the lock that go-queue itself takes before it runs one. */

/** How long go-queue holds its lock from the start of a run. It drops jobs that are overdue by more than half of it. */
export const LOCK_TIME_MS = 3_600_500;
/** If a job is overdue by more than this the lock of a run may have expired, so that nobody can know whether there was one. */
export const UNCERTAIN_AFTER_MS = 55 * 60_000;

/** Prefix of our locks. */
const OURS = 'nest-dq:';
/** Owner of a lock taken by a revoke: nobody runs the job. */
export const REVOKED = `${OURS}revoked`;

/** `revoked`: nobody starts the job any more. `ours`: one of our owners has started it. `theirs`: go-queue has. */
export type LockHolder = 'revoked' | 'ours' | 'theirs';

/** `id` is the job's: the MD5 of its bytes, which is the key of the lock. All calls reject with `DQ_LEDGER_DOWN`. */
export interface GoQueueLocks {
  /**
   * Resolves with true if the owner has the lock, newly or still; with false if go-queue or another owner has started the job, or
   * it is revoked.
   */
  take(id: string, owner: string): Promise<boolean>;
  /** Prevents anybody who hasn't started the job from starting it in the next `time` ms. */
  revoke(id: string, time: number): Promise<LockHolder>;
  /** Resolves with the holder; undefined if there is none. */
  look(id: string): Promise<LockHolder | undefined>;
  /** Connects in the background, and stays connected. Idempotent. */
  start(): void;
  /** Idempotent. */
  close(): Promise<void>;
}

/** The holder according to the value of a lock. */
export function holderOf(owner: string): LockHolder {
  if (owner === REVOKED) return 'revoked';
  return owner.startsWith(OURS) ? 'ours' : 'theirs';
}

/** The owner who starts a job of ours. A job adopted a second time, because its records were lost, has another owner. */
export function ownerOf(born: number): string {
  return OURS + String(born);
}
