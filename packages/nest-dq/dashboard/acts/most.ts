import type { BulkAct } from '../server/requests.js';

/** The same act for at most so many, skipped and failed ones included. A repair has no such limit and stays as it is. */
export function withMost(act: BulkAct, limit: number | undefined): BulkAct {
  if (limit === undefined || !('filter' in act.body)) return act;
  return { ...act, body: { ...act.body, filter: { ...act.body.filter, limit } } } as BulkAct;
}

/** What a person wrote into the field. Undefined: nothing. NaN: it is no number of jobs. */
export function readMost(text: string): number | undefined {
  if (text.trim() === '') return undefined;
  const most = Number(text);
  return Number.isSafeInteger(most) && most >= 1 ? most : NaN;
}
