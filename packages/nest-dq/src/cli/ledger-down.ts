import { Failure, type Line, styled } from 'nest-handlers/cli';
import { DqError, factOf } from '../errors.js';
import type { LedgerView } from '../ledger/ledger-view.js';

/** Advice for a Redis that can't be used. */
export const LEDGER_ADVICE =
  'start it, or check its address, password and permissions; no job runs without it';

/** Exit status if Redis can't be used. */
export const LEDGER_STATUS = 2;

/** Returns the one line that explains all that is missing while Redis can't be used. `cause`: from its connection. */
export function ledgerDown(cause: string): string {
  // A frozen server accepts a connection, and then says nothing.
  return `Redis unusable: ${cause.replace(/^no connection yet/, 'no answer')} → ${LEDGER_ADVICE}`;
}

/** The first line of an answer: the one cause of all that is unknown in it. */
export function downLine({ up, reason }: Pick<LedgerView, 'up' | 'reason'>): Line[] {
  return up ? [] : [styled('red', ledgerDown(reason ?? 'no answer'))];
}

/** Returns why Redis can't be used. */
export function causeOf(error: Error): string {
  return error instanceof DqError ? factOf(error).replace('Redis is not connected: ', '') : error.message;
}

/** Turns the error of a call that needed Redis into the one line; returns others as they are. */
export function asFailure(error: unknown): unknown {
  if (!(error instanceof DqError) || error.code !== 'DQ_LEDGER_DOWN') return error;
  return new Failure(ledgerDown(causeOf(error)), LEDGER_STATUS);
}
