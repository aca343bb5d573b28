import type { JobRef, JobView, RevokeResult } from '../api/job.js';
import type { Tube } from '../api/tube.js';
import type { NamedCopy } from '../copies/header.js';
import type { JobTarget } from '../copies/job-ref.js';
import type { Adder } from './job-adder.js';

/** Calls that differ for jobs in another program's format. */
export interface ForeignJobs {
  /** Returns the adder of a tube whose jobs are stored in the other format. `name` is without the prefix. */
  adderOf(tube: string | Tube, name: string): Adder | undefined;
  /**
   * Resolves with the job of these copies, or undefined if no copy of it exists or is reachable. `DQ_BAD_REF`, including if jobs
   * of the tube are sealed: such a reference has no tag, so anybody could forge one for other people's jobs.
   */
  find(named: readonly [NamedCopy, ...NamedCopy[]]): Promise<JobTarget | undefined>;
  /** Resolves with the state of a job: as run by us, or else as stored. Also `done` if the other program has started it. */
  view(target: JobTarget): Promise<JobView | undefined>;
  /**
   * Prevents both programs from starting the job, even while nodes are unreachable.
   * @param revoke Revokes a job of ours. With `confirmed`, copies are deleted before it resolves.
   */
  revoke(
    target: JobTarget,
    revoke: (target: JobTarget, confirmed: boolean) => Promise<RevokeResult>,
  ): Promise<RevokeResult>;
  /** Resolves with a reference to the job where it is now: in our tube if it was adopted. `DQ_BAD_REF`. */
  present(ref: JobRef): Promise<JobRef>;
}
