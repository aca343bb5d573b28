import { FIRST_TIMESTAMP, showInstant } from 'nest-handlers/time';
import { DqError } from '../errors.js';
import type { JobHeader } from './header.js';

/**
 * Returns the ledger time, in ms, by which each run of a job must start; undefined if it never expires. A header's `expires` is a
 * number of ms after the due time, which moves with the job, or if it has 13 digits a fixed time.
 * @param after Default of the handler, in ms after the due time.
 */
export function startByOf(
  { due, expires }: Pick<JobHeader, 'due' | 'expires'>,
  after?: number,
): number | undefined {
  const given = expires ?? after;
  if (given === undefined) return undefined;
  return isFixed(given) ? given : Math.ceil(due) + given;
}

/** Whether an expiry is a fixed time, which stays when its job moves. */
export function isFixed(expires: number): boolean {
  return expires >= FIRST_TIMESTAMP;
}

/** Throws `DQ_BAD_OPTION` if a job would expire before it is due. */
export function refuseExpired(header: Pick<JobHeader, 'due' | 'expires'>): void {
  const { due } = header;
  const startBy = startByOf(header);
  if (startBy === undefined || startBy > due) return;
  throw new DqError(
    'DQ_BAD_OPTION',
    `\`expireAt\` is ${showInstant(startBy)}, but the job is due at ${showInstant(due)}: expected a later time`,
  );
}
