// Jobs that are done, kept for people to see: the same rules as finished.lua.ts.
import type { Moment, Records } from '../records/records.js';
import type { FinishedEntry, FinishedList, FinishedQuery, KeptDone } from '../requests.js';
import { MORE_TRIMMED } from './finished-jobs.js';

/** Keeps a job that is done. Some of what is beyond the bounds goes; all of it does once no job has finished for that period. */
export function keepFinished(
  { finished: kept }: Records,
  id: string,
  { run, period, max }: KeptDone,
  { now }: Moment,
): void {
  if (kept.isOver(now)) kept.dropOldest(kept.inOrder.length);
  kept.add({ id, ended: now, ...run, keptUntil: now + period });
  const old = kept.countBefore({ ended: now - period, id: '' });
  kept.dropOldest(Math.min(Math.max(old, kept.inOrder.length - max), 1 + MORE_TRIMMED));
}

export function finished(
  { finished: kept }: Records,
  { from = -Infinity, to = Infinity, after, limit }: FinishedQuery,
  { now }: Moment,
): FinishedList {
  if (kept.isOver(now)) return { jobs: [] };
  const end = Math.min(kept.countBefore({ ended: to, id: '' }), after ? kept.countBefore(after) : Infinity);
  const start = Math.max(0, kept.countBefore({ ended: from, id: '' }), end - limit);
  const jobs = kept.inOrder.slice(start, end).reverse();
  const isMore = start > kept.countBefore({ ended: from, id: '' });
  const last = jobs.at(-1);
  return {
    jobs: jobs.map(withoutExpiry),
    ...(isMore && last && { last: { id: last.id, ended: last.ended } }),
  };
}

export function ended({ finished: kept }: Records, id: string, { now }: Moment): FinishedEntry | undefined {
  const job = kept.isOver(now) ? undefined : kept.byId.get(id);
  return job && withoutExpiry(job);
}

function withoutExpiry({
  keptUntil: _keptUntil,
  ...job
}: FinishedEntry & { readonly keptUntil: number }): FinishedEntry {
  return job;
}
