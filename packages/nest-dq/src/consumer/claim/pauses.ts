import { stagger } from '../../copies/timing.js';
import type { ClaimAnswer } from '../../ledger/requests.js';
import type { TubeContext } from '../tube-context.js';

/** Seconds. The backups of a long run do not ask more often than this. */
const LONGEST_BACKUP_PAUSE = 60;

type Timing = Pick<TubeContext, 'backupDelay' | 'lease'>;

/**
 * Milliseconds. A copy of a job that runs, and whose run ends soon, is held for so long, and asks again: so it is deleted soon after the job. A run of
 * what go-queue stored only adopts it, so it is always such a run, and a ledger that loses everything finds few copies of jobs that have run.
 */
export const LOOK_AGAIN = 100;

/**
 * Milliseconds. A run that is younger ends soon, as most do. Another copy of its job is held meanwhile: released for as long
 * as the lease lasts, it would linger.
 */
export const YOUNG_RUN = 1_000;

/** Seconds for which copy `index` is released while a run of its job has the lease, in any process. */
export function leasePause(index: number, { lease, backupDelay }: Timing): number {
  return Math.ceil(lease / 1000) + stagger(index, backupDelay);
}

/** Seconds for which copy `index` is released when its job runs elsewhere. */
export function busyPause(
  index: number,
  { ms, ranFor }: Extract<ClaimAnswer, { kind: 'busy' }>,
  { backupDelay }: Pick<Timing, 'backupDelay'>,
): number {
  // Never at once ◆, or the copy would come back as fast as it is released.
  const pause = Math.max(1, Math.ceil(ms / 1000)) + stagger(index, backupDelay);
  return index === 0 ? pause : Math.min(LONGEST_BACKUP_PAUSE, Math.max(pause, Math.ceil(ranFor / 1000)));
}
