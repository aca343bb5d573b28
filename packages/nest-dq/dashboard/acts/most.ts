import type { BulkAct } from '../server/requests.js';

/** Returns the act with a limit on its items, including skipped and failed ones. A repair has no such limit and is unchanged. */
export function withMost(act: BulkAct, limit: number | undefined): BulkAct {
  if (limit === undefined || !('filter' in act.body)) return act;
  return { ...act, body: { ...act.body, filter: { ...act.body.filter, limit } } } as BulkAct;
}

/** Parses the field. Returns undefined if it is empty, NaN if it isn't a valid number of jobs. */
export function readMost(text: string): number | undefined {
  if (text.trim() === '') return undefined;
  const most = Number(text);
  return Number.isSafeInteger(most) && most >= 1 ? most : NaN;
}
