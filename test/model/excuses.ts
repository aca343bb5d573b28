import type { History, Start } from './history.js';
import { SETTINGS } from './plan.js';

/** Milliseconds. A shorter disturbance cannot make a process lose its lease. */
const HARMLESS = SETTINGS.lease / 3;

/** Whether the ledger lost records in this time while there were copies of the job. */
export function lossBetween(history: History, id: string, from: number, to: number): boolean {
  return history.losses.some(({ at, copies }) => at >= from && at <= to && copies.has(id));
}

/** Whether, before `until`, the process of the run could not hold its lease or report its outcome. */
export function excused(history: History, run: Start, until: number): boolean {
  const disturbed = history.disturbances.some(
    ({ process, kind, from, to }) =>
      process === run.process &&
      // A run that a drain handed back runs elsewhere shortly before its process ends.
      from - (kind === 'crash' ? 3_000 : 0) <= until &&
      to >= run.at - SETTINGS.lease &&
      (kind === 'crash' || to - from >= HARMLESS),
  );
  return disturbed || lossBetween(history, run.id, run.at - SETTINGS.lease, until);
}

export function crashed(history: History, process: string, from: number, until = Infinity): boolean {
  return history.disturbances.some(
    (each) => each.process === process && each.kind === 'crash' && each.from >= from && each.from <= until,
  );
}
