import type { BadSeal, LostJob } from '../events/events.js';
import type { DelayedJob } from '../api/job.js';
import type { Death } from '../ledger/requests.js';

/** A failed job is tried again at a time, is a dead letter, or was revoked or replaced while it ran. */
export type AfterFailure = Date | 'dead' | 'over';

/** By what a person finds it. */
export type NamedJob = Pick<DelayedJob, 'id' | 'key'>;

/** How many dead letters of a tube were removed in a round, and why. */
export interface RemovedLetters {
  /** Older than `maxAge`. */
  tooOld: number;
  /** Younger, but beyond `maxCount`. */
  tooMany: number;
}

/** What happens to deliveries that somebody should hear of. The Nest layer logs it. */
export interface ConsumerReport {
  /** The handler failed, and the ledger has taken it. `dead` is told besides. */
  failed(job: DelayedJob, error: Error, next: AfterFailure): void;
  /** A job became a dead letter: `attempts` were used up, or its handler discarded it, or its payload is unreadable. */
  dead(tube: string, job: NamedJob, death: Death): void;
  /** A body that is no envelope was buried. */
  poison(tube: string, node: string, copyId: string, reason: string): void;
  /** A copy was not sealed as it should be, and was buried; or it is sealed with a key that this process does not have: handed back. */
  badSeal(refused: BadSeal): void;
  /** A run lost its lease, so another process may run the job too. */
  leaseLost(tube: string, id: string, attempt: number): void;
  /** A run was revoked by somebody who wants it to stop: its signal was raised, and nothing follows it. */
  revoked(tube: string, id: string, attempt: number): void;
  /** A handler did not return in the seconds after its timeout: another job takes its slot. */
  overran(tube: string, id: string, attempt: number): void;
  /** A run said `Again.at` with an instant that was over: the next one comes a second later, or at once if this one was late. */
  instantOver(tube: string, id: string, at: Date): void;
  /** Too few copies of what a run's `Again` asked for are stored: the job waits as its old copies until then. */
  notStored(tube: string, id: string, until: Date, why: string): void;
  /** A job that go-queue stored could not be made one of ours; it is tried again. */
  notAdopted(tube: string, id: string, error: Error): void;
  /** The ledger answers, but failed at this job; it is asked again. */
  ledgerTrouble(tube: string, id: string, error: Error): void;
  /** The process did nothing for so many ms while jobs of the tube ran: more than a third of their lease (ms). */
  stoodStill(tube: string, ms: number, lease: number): void;
  /** A shutdown waited for its limit (ms), and so many handlers still run: their runs are handed back. */
  cutOff(tube: string, handlers: number, limit: number): void;
  /** Dead letters were not retained any more, and were discarded; once a round. */
  lettersRemoved(tube: string, removed: RemovedLetters): void;
  /** The ledger answers, but failed at the dead letters that are not retained; it is asked again a minute later. */
  notSwept(tube: string, error: Error): void;
  /** A job that waited is lost; once for each. */
  lost(job: LostJob): void;
  /** The node gave an answer that a healthy node does not give. */
  nodeTrouble(node: string, message: string): void;
}
