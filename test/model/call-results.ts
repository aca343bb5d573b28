import type { DqError } from 'nest-dq/src/errors.js';
import type { Call } from './history.js';

/** Whether the answer says that what was scheduled before is over. */
export function hasEnded({ operation, answer, receipt }: Call): boolean {
  switch (operation.kind) {
    case 'add':
      return operation.key !== undefined && receipt !== undefined && receipt.status !== 'kept';
    case 'revoke':
      return answer === 'revoked' || answer === 'running';
    case 'reschedule':
      return answer === 'rescheduled';
    case 'discard':
      return answer === 'discarded';
    default:
      return false;
  }
}

/** Whether the call may have ended the job, or replaced it. */
export function mayHaveEnded({ operation, answer }: Call): boolean {
  if (operation.kind === 'revoke') return answer !== 'done' && answer !== 'dead' && answer !== 'expired';
  return (
    operation.kind === 'discard' ||
    operation.kind === 'add' ||
    operation.kind === 'reschedule' ||
    operation.kind === 'revive'
  );
}

/** Whether it is certain that the call had no effect. */
export function isUndone({ operation, answer, error, receipt, ended }: Call): boolean {
  if (ended === undefined) return false;
  if (operation.kind === 'add') {
    return error ? (error as DqError).indeterminate !== true : receipt?.status === 'kept';
  }
  if (operation.kind !== 'reschedule') return false;
  return error ? (error as DqError).indeterminate !== true : answer !== 'rescheduled';
}
