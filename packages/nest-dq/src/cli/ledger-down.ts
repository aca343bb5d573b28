import { Failure, instant, type Line, styled } from 'nest-handlers/cli';
import { DqError, factOf } from '../errors.js';
import type { LedgerView } from '../ledger/ledger-view.js';
import { isOnlyHere, type Outage } from './outage.js';

const NO_JOB = 'no job runs without it';
/** Advice for a Redis that can't be used. */
const START = `start it, or check its address, password and permissions; ${NO_JOB}`;
const THAW = `restart it if it hangs (a frozen disk or machine, a slow script), or check the network; ${NO_JOB}`;
const HERE =
  'check the address, password and permissions that this command was given: the application reports no outage';

/** Exit status if Redis can't be used. */
export const LEDGER_STATUS = 2;

/** Why Redis can't be used, since when, and what to do. */
export interface LedgerDown {
  /** As `unusable since 14:00: connect ECONNREFUSED 10.0.0.9:6379`. */
  readonly fact: string;
  readonly advice: string;
}

/**
 * `cause`: from its connection. `outage`: what the nodes show of it; undefined if they weren't asked. `now`: ledger time in ms.
 */
export function ledgerDown(cause: string, outage: Outage | undefined, now: number): LedgerDown {
  // A frozen server accepts a connection, and then says nothing.
  const why = cause.replace(/^no connection yet/, 'no answer');
  if (isOnlyHere(why, outage)) return { fact: `unusable from here: ${why}`, advice: HERE };
  const since = outage?.since;
  const fact = `unusable${since ? ` since ${instant(since, now)}` : ''}: ${why}`;
  return { fact, advice: /^no answer\b/.test(why) ? THAW : START };
}

/** The one line that explains all that is missing while Redis can't be used. */
export function ledgerDownLine(...down: Parameters<typeof ledgerDown>): string {
  const { fact, advice } = ledgerDown(...down);
  return `Redis ${fact} → ${advice}`;
}

/** The first line of an answer: the one cause of all that is unknown in it. */
export function downLine(
  { up, reason = 'no answer' }: Pick<LedgerView, 'up' | 'reason'>,
  outage: Outage | undefined,
  now: number,
): Line[] {
  return up ? [] : [styled('red', ledgerDownLine(reason, outage, now))];
}

/** Returns why Redis can't be used. */
export function causeOf(error: Error): string {
  return error instanceof DqError ? factOf(error).replace('Redis is not connected: ', '') : error.message;
}

/** Whether a call failed because Redis can't be used. */
export function isLedgerDown(error: unknown): error is DqError {
  return error instanceof DqError && error.code === 'DQ_LEDGER_DOWN';
}

/** The failure of a command that needs Redis. */
export function ledgerFailure(...down: Parameters<typeof ledgerDown>): Failure {
  return new Failure(ledgerDownLine(...down), LEDGER_STATUS);
}
