import type { History, Start } from './history.js';
import { SETTINGS } from './plan.js';

/** Milliseconds. A process that does its part misses no lease by less. */
const HARMLESS = SETTINGS.lease / 3;

/** The ledger lost records while copies of the job lay somewhere. */
export function lossBetween(history: History, id: string, from: number, to: number): boolean {
  return history.losses.some(({ at, copies }) => at >= from && at <= to && copies.has(id));
}

/** The run's process was not able to hold its lease, or to tell how it ended, until then. */
export function excused(history: History, run: Start, until: number): boolean {
  const disturbed = history.disturbances.some(
    ({ process, kind, from, to }) =>
      process === run.process &&
      // What a drain gave back runs elsewhere, a little before its process dies.
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
