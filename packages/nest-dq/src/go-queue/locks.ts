/** Who may run a job of go-queue's dq: the lock that go-queue itself takes before it runs one. */

import type { StoredTube, TubeWires } from '../api/tube.js';
import type { Envelope } from '../copies/header.js';

/** Milliseconds. go-queue has its lock for so long after the begin of a run, and drops jobs that are more overdue than half of it. */
export const LOCK_TIME = 3_600_500;
/** Milliseconds. When a job is more overdue, the lock of a run may be over, so that nobody can tell whether there was one. */
export const UNCERTAIN_AFTER = 55 * 60_000;

/** Our locks begin with it. */
const OURS = 'nest-dq:';
/** Of a lock that a revoke has taken: nobody runs the job. */
export const REVOKED = `${OURS}revoked`;

/** `revoked`: nobody begins the job any more. `ours`: an owner of ours has begun it. `theirs`: go-queue has. */
export type LockHolder = 'revoked' | 'ours' | 'theirs';

/** `id` is that of the job: the MD5 of its bytes, which is the lock's key. All calls reject with `DQ_LEDGER_DOWN`. */
export interface GoQueueLocks {
  /** True: it is the owner's, from now on or still. False: go-queue has begun the job, another owner has, or it is revoked. */
  take(id: string, owner: string): Promise<boolean>;
  /** Lets nobody begin the job in the next `time` ms who has not begun it. */
  revoke(id: string, time: number): Promise<LockHolder>;
  /** Who has it; undefined: nobody. */
  look(id: string): Promise<LockHolder | undefined>;
  /** Connects in the background, and stays connected. Idempotent. */
  start(): void;
  /** Idempotent. */
  close(): Promise<void>;
}

/** Under which key, and for when. */
export interface AdoptedAs {
  readonly key: string;
  /** Ledger time, ms. */
  readonly due: number;
}

/** What a process needs of tubes that services with go-queue use, too. */
export interface GoQueueParts {
  readonly locks: GoQueueLocks;
  /** The tubes that it knows. */
  readonly wires: TubeWires;
  /** Makes a job of ours of one that go-queue stored; one that was made before stays as it is. */
  readonly adopt: (tube: StoredTube, copy: Envelope, as: AdoptedAs) => Promise<unknown>;
}

/** By the value of a lock. */
export function holderOf(owner: string): LockHolder {
  if (owner === REVOKED) return 'revoked';
  return owner.startsWith(OURS) ? 'ours' : 'theirs';
}

/** Who has begun a job of ours. A job that was adopted a second time, as all that was known of it was lost, is another owner. */
export function ownerOf(born: number): string {
  return OURS + String(born);
}
