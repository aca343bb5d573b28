import { isUndone, mayHaveEnded } from './call-results.js';
import { lossBetween } from './excuses.js';
import type { Call, History } from './history.js';
import type { Simulation } from './simulation.js';

/** Every scheduled job that was neither revoked nor replaced has ended. Of jobs that replaced each other, one has ended. */
export function jobsEnded({ history }: Simulation): string[] {
  const found: string[] = [];
  const adds = history.calls.filter(({ operation }) => operation.kind === 'add');
  for (const add of adds) {
    if (!add.receipt || add.receipt.status === 'kept' || isOver(history, add)) continue;
    const rivals = adds.filter(
      (other) =>
        other !== add &&
        other.operation.kind === 'add' &&
        other.operation.key !== undefined &&
        other.id === add.id &&
        !isUndone(other) &&
        (other.ended ?? Infinity) >= add.began,
    );
    if (rivals.some((rival) => isOver(history, rival)) || isOutrun(history, add) || isOvertaken(history, add))
      continue;
    found.push(`lost: ${history.name(add.id!)} of #${add.number} never ended`);
  }
  return found;
}

/** Every revived job runs. */
export function revivedRan({ history }: Simulation): string[] {
  const { starts, robberies, calls, died, expired } = history;
  return calls
    .filter(({ operation, answer }) => operation.kind === 'revive' && answer === 'revived')
    .filter((call) => {
      const { id, began } = call;
      if ((died.get(id!) ?? 0) > began || (expired.get(id!) ?? 0) > began) return false;
      if (starts.some((start) => start.id === id && start.at >= began)) return false;
      if (robberies.some((robbery) => robbery.id === id && robbery.at >= began)) return false;
      return !calls.some(
        (other) =>
          other !== call && other.id === id && mayHaveEnded(other) && (other.ended ?? Infinity) >= began,
      );
    })
    .map(({ id, number }) => `lost: ${history.name(id!)} never ran after #${number} had revived it`);
}

function isOver(history: History, add: Call): boolean {
  const { id, born, operation } = add;
  if (operation.kind !== 'add' || id === undefined) return false;
  const { starts, died, expired, robberies, calls, losses } = history;
  if (
    starts.some(
      (start) =>
        start.id === id &&
        (born === undefined ? start.payload === operation.number : start.born === born) &&
        start.ended?.how === 'done',
    )
  )
    return true;
  if (
    (died.get(id) ?? 0) >= add.began ||
    (expired.get(id) ?? 0) >= add.began ||
    robberies.some((robbery) => robbery.id === id && robbery.at >= add.began)
  )
    return true;
  return calls.some(
    (call) =>
      (call.operation.kind === 'revoke' || call.operation.kind === 'discard') &&
      call.id === id &&
      (call.born === undefined || call.born === born) &&
      (call.ended ?? Infinity) >= add.began &&
      ((call.answer !== 'done' && call.answer !== 'dead' && call.answer !== 'expired') ||
        // A revoke by key also ends generations that Redis has lost, but its answer is about those that Redis has.
        (call.born === undefined && losses.some(({ at }) => at <= call.began))),
  );
}

/** Whether the ledger lost the replacement of a job, and the replaced one continued as the job: by its run, or by a move. */
function isOutrun(history: History, { id, born, began }: Call): boolean {
  const wentOn = history.finishes.some(
    ({ at, request, answer }) =>
      request.id === id &&
      request.born !== born &&
      request.outcome.kind === 'again' &&
      answer === 'ok' &&
      lossBetween(history, id, began, at),
  );
  const wasMoved = history.calls.some(
    ({ id: moved, born: before, operation, answer, began: at }) =>
      operation.kind === 'reschedule' &&
      moved !== undefined &&
      moved === id &&
      before !== undefined &&
      before !== born &&
      answer === 'rescheduled' &&
      lossBetween(history, moved, began, at),
  );
  return wentOn || wasMoved;
}

/** Whether its producer was cut off before it knew what came of the add, and a revival of what it was to replace decided first. */
function isOvertaken({ calls }: History, { id, began, ended = Infinity }: Call): boolean {
  return calls.some(
    (call) =>
      call.operation.kind === 'revive' &&
      call.id === id &&
      call.answer === 'revived' &&
      call.began >= began &&
      (call.ended ?? Infinity) <= ended,
  );
}
