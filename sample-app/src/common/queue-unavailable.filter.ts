import { Catch, ServiceUnavailableException, type ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { DqError } from 'nest-dq';

const TRY_AGAIN: ReadonlySet<string> = new Set(['DQ_TOO_FEW_COPIES', 'DQ_LEDGER_DOWN', 'DQ_CLOSED']);

/** A job that could not be kept safely is no fault of the request: 503 instead of 500. */
@Catch(DqError)
export class QueueUnavailableFilter extends BaseExceptionFilter {
  override catch(error: DqError, host: ArgumentsHost): void {
    const answer = TRY_AGAIN.has(error.code)
      ? new ServiceUnavailableException('this cannot be scheduled at the moment; try again later', {
          cause: error,
        })
      : error;
    super.catch(answer, host);
  }
}
