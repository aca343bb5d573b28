import type { BadSeal, LostJob } from '../events/events.js';
import type { DelayedJob } from '../api/job.js';
import type { Death } from '../ledger/requests.js';

/**
 * Consequence of a failed run: a retry at that time, a dead letter, or nothing, because the job was revoked or replaced in the
 * meantime.
 */
export type AfterFailure = Date | 'dead' | 'over';

/** The names by which people find a job. */
export type NamedJob = Pick<DelayedJob, 'id' | 'key'>;

/** Numbers of a tube's dead letters removed in one round, by reason. */
export interface RemovedLetters {
  /** Number of letters older than `maxAge`. */
  tooOld: number;
  /** Number of younger letters in excess of `maxCount`. */
  tooMany: number;
}

/** Receives everything about deliveries that is worth reporting. The Nest layer logs it. */
export interface ConsumerReport {
  /** The handler failed, and the ledger has recorded it. `dead` is reported in addition. */
  failed(job: DelayedJob, error: Error, next: AfterFailure): void;
  /** A job became a dead letter: `attempts` were used up, its handler discarded it, or its payload is unreadable. */
  dead(tube: string, job: NamedJob, death: Death): void;
  /** A body that isn't an envelope was buried. */
  poison(tube: string, node: string, copyId: string, reason: string): void;
  /** A copy isn't sealed as required and was buried, or is sealed with a key this process lacks and was released. */
  badSeal(refused: BadSeal): void;
  /** A run lost its lease, so another process may run the job too. */
  leaseLost(tube: string, id: string, attempt: number): void;
  /** A run was revoked: its signal was aborted, and nothing follows it. */
  revoked(tube: string, id: string, attempt: number): void;
  /** A handler didn't return within some seconds after its timeout: another job takes its slot. */
  overran(tube: string, id: string, attempt: number): void;
  /** A run returned `Again.at` with a time in the past. The next run starts a second later, or immediately if this one was late. */
  instantOver(tube: string, id: string, at: Date): void;
  /** Too few of the copies requested by a run's `Again` were stored. Until then, the job waits in its old copies. */
  notStored(tube: string, id: string, until: Date, why: string): void;
  /** A job in another program's format couldn't be adopted; retrying. */
  notAdopted(tube: string, id: string, error: Error): void;
  /** The ledger answers but failed on this job; retrying. */
  ledgerTrouble(tube: string, id: string, error: Error): void;
  /** While jobs of the tube ran, the process was blocked for `ms`, which is more than a third of their `lease` (in ms). */
  stoodStill(tube: string, ms: number, lease: number): void;
  /** A shutdown reached its `limit` (in ms) with this many handlers still running, whose runs are handed back. */
  cutOff(tube: string, handlers: number, limit: number): void;
  /** Dead letters beyond their retention were discarded. Called once per round. */
  lettersRemoved(tube: string, removed: RemovedLetters): void;
  /** The ledger answers but failed to remove dead letters; retrying a minute later. */
  notSwept(tube: string, error: Error): void;
  /** A waiting job is lost. Called once per job. */
  lost(job: LostJob): void;
  /** A node gave an answer that a healthy node wouldn't give. */
  nodeTrouble(node: string, message: string): void;
}
