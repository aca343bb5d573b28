import type { CopyHeader } from '../../copies/header.js';
import { stagger } from '../../copies/timing.js';
import type { ClaimAnswer } from '../../ledger/requests.js';
import type { TubeContext } from '../tube-context.js';

/** Seconds. The backups of a long run do not ask more often than this. */
const LONGEST_BACKUP_PAUSE = 60;

type Which = Pick<CopyHeader, 'index' | 'wire'>;
type Timing = Pick<TubeContext, 'backupDelay' | 'lease'>;

/** A run of what go-queue stored only adopts it, which is soon done. */
const ADOPTED_SOON = 1;

/** Seconds for which a copy is released while a run of its job has the lease, in any process. */
export function leasePause({ index, wire }: Which, { lease, backupDelay }: Timing): number {
  if (wire) return ADOPTED_SOON;
  return Math.ceil(lease / 1000) + stagger(index, backupDelay);
}

/** Seconds for which a copy is released when its job runs elsewhere. */
export function busyPause(
  { index, wire }: Which,
  { ms, ranFor }: Extract<ClaimAnswer, { kind: 'busy' }>,
  { backupDelay }: Pick<Timing, 'backupDelay'>,
): number {
  if (wire) return ADOPTED_SOON;
  // Never at once ◆, or the copy would come back as fast as it is released.
  const pause = Math.max(1, Math.ceil(ms / 1000)) + stagger(index, backupDelay);
  return index === 0 ? pause : Math.min(LONGEST_BACKUP_PAUSE, Math.max(pause, Math.ceil(ranFor / 1000)));
}
