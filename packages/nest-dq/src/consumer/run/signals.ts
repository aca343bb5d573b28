import { DqError } from '../../errors.js';
import type { ConsumerReport } from '../report.js';
import type { Run } from './run.js';

/** Raises the signals of handlers whose runs the ledger no longer wants, and tells of it, each once. */
export class Signals {
  constructor(
    private readonly tube: string,
    private readonly report: ConsumerReport,
  ) {}

  /** Somebody else may run the job now. */
  loseLease(run: Run): void {
    if (run.lost) return;
    run.lost = true;
    const fact = `the lease of job ${run.id} in ${this.tube} was lost; its outcome will not count`;
    run.abort.abort(new DqError('DQ_LEASE_LOST', fact));
    this.report.leaseLost(this.tube, run.id, run.grant.attempt);
  }

  /** The job was revoked by somebody who wants its handler to stop. */
  revoke(run: Run): void {
    if (run.revoked) return;
    run.revoked = true;
    const fact = `job ${run.id} in ${this.tube} was revoked; nothing follows this run`;
    run.abort.abort(new DqError('DQ_REVOKED', fact));
    this.report.revoked(this.tube, run.id, run.grant.attempt);
  }
}
