import { Injectable, Logger } from '@nestjs/common';
import { DqError, DqProducer, type JobRef, type RevokeResult } from 'nest-dq';

/**
 * Takes back jobs that have nothing to do any more.
 * First change the row, then revoke: handlers look at the row, so a job that is too late to revoke does no harm.
 */
@Injectable()
export class Revoker {
  private readonly logger = new Logger(Revoker.name);

  constructor(private readonly dq: DqProducer) {}

  /** With Redis away it answers `unknown`, because that is no reason to fail a request. */
  async revoke(ref: JobRef): Promise<RevokeResult> {
    try {
      return await this.dq.revoke(ref);
    } catch (error) {
      if (!(error instanceof DqError && error.code === 'DQ_LEDGER_DOWN')) throw error;
      this.logger.warn(`a job was not revoked, and will find nothing to do: ${error.message}`);
      return 'unknown';
    }
  }
}
