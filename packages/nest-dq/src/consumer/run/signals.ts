import { DqError } from '../../errors.js';
import type { TubeContext } from '../tube-context.js';
import type { Run } from './run.js';

type Reporting = Pick<TubeContext, 'tube' | 'report'>;

/** Raises a run's signal and reports it, once: another process may run the job now. */
export function loseLease({ tube, report }: Reporting, run: Run): void {
  if (run.lost) return;
  run.lost = true;
  const fact = `the lease of job ${run.id} in ${tube} was lost; its outcome will not count`;
  run.abort(new DqError('DQ_LEASE_LOST', fact));
  report.leaseLost(tube, run.id, run.grant.attempt);
}

/** Raises a run's signal and reports it, once: the job was revoked, and its handler is asked to stop. */
export function revokeRun({ tube, report }: Reporting, run: Run): void {
  if (run.revoked) return;
  run.revoked = true;
  const fact = `job ${run.id} in ${tube} was revoked; nothing follows this run`;
  run.abort(new DqError('DQ_REVOKED', fact));
  report.revoked(tube, run.id, run.grant.attempt);
}
