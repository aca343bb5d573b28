import { Logger } from '@nestjs/common';
import { DqError, type DqProducer, type JobRef, type RevokeResult } from 'nest-dq';

/**
 * Revokes a job that has nothing to do any more. First change the row, then revoke: the handler looks at the row, so a
 * job that is too late to revoke does no harm. With Redis away the answer is `unknown`: no reason to fail a request.
 */
export async function tryToRevoke(dq: DqProducer, ref: JobRef): Promise<RevokeResult> {
  try {
    return await dq.revoke(ref);
  } catch (error) {
    if (!(error instanceof DqError && error.code === 'DQ_LEDGER_DOWN')) throw error;
    Logger.warn(`a job was not revoked and will be a no-op: ${error.message}`, tryToRevoke.name);
    return 'unknown';
  }
}
