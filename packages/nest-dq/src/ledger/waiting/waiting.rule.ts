// The index of waiting jobs: the same rules as waiting.lua.ts and listing.lua.ts.
import type { IndexAnswer, IndexRequest, Schedule, Tally, TallyRequest, WaitingIds } from '../requests.js';
import type { WaitingPage, WaitingPosition } from './waiting-jobs.js';
import { keptAfter } from '../ledger.js';
import { scheduleOf } from '../records/job-record.js';
import type { Moment, Records } from '../records/records.js';

export function index(records: Records, request: IndexRequest, time: Moment): IndexAnswer {
  const { id, due, places } = request;
  // The record of an ended job is kept for at least `doneTtl`.
  if (Math.ceil(due) + records.settings.doneTtl <= time.now || records.read(id, time)) return 'known';
  if (records.roomInIndex <= 0) return 'full';
  records.index.set(id, { due: Math.ceil(due), places, isRetried: false });
  return 'listed';
}

export function waiting(records: Records, { from, to, after, limit }: WaitingPage): WaitingIds {
  const meant = ({ due, id }: WaitingPosition) =>
    (from === undefined || due >= from) &&
    (to === undefined || due < to) &&
    (!after || compare(after, { due, id }) < 0);
  const found = inOrder(records).filter(meant);
  return { ids: found.slice(0, limit), more: found.length > limit };
}

export function locate(records: Records, id: string, time: Moment): Schedule | undefined {
  const record = records.read(id, time);
  if (record) {
    records.relist(id, record);
    return scheduleOf(record, time.now);
  }
  const found = records.index.get(id);
  if (!found) return undefined;
  if (found.due + keptAfter(records.settings) < time.now) {
    records.index.delete(id);
    return undefined;
  }
  const { due, places } = found;
  return { state: 'waiting', born: 0, generation: 0, attempt: 0, due, places };
}

export function tally(records: Records, { times }: TallyRequest, { now }: Moment): Tally {
  const dues = inOrder(records).map(({ due }) => due);
  const before = (time: number) => dues.filter((due) => due < time).length;
  return {
    listed: dues.length,
    overdue: before(now + 1),
    retrying: Array.from(records.index.values()).filter(({ isRetried }) => isRetried).length,
    ...(dues.length > 0 ? { firstDue: dues[0]! } : {}),
    before: times.map(before),
  };
}

function inOrder({ index: entries }: Records): WaitingPosition[] {
  return Array.from(entries, ([id, { due }]) => ({ id, due })).sort(compare);
}

function compare(a: WaitingPosition, b: WaitingPosition): number {
  if (a.due !== b.due) return a.due - b.due;
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}
