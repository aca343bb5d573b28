import { Catch, ServiceUnavailableException, type ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { DqError } from 'nest-dq';
import { KqError } from 'nest-kq';

const TRY_AGAIN: ReadonlySet<string> = new Set([
  'DQ_TOO_FEW_COPIES',
  'DQ_LEDGER_DOWN',
  'DQ_CLOSED',
  'KQ_AWAY',
  'KQ_FULL',
  'KQ_CLOSED',
]);

/** A job or a message that could not be stored safely is no fault of the request: 503 instead of 500. */
@Catch(DqError, KqError)
export class QueueUnavailableFilter extends BaseExceptionFilter {
  override catch(error: DqError | KqError, host: ArgumentsHost): void {
    const answer = TRY_AGAIN.has(error.code)
      ? new ServiceUnavailableException('the request cannot be stored right now; try again later', {
          cause: error,
        })
      : error;
    super.catch(answer, host);
  }
}
