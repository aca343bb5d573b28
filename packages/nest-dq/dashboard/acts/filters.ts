import type { WaitingFilterWire } from '../../src/dashboard/wire.js';

/** Filter of the page of waiting jobs. Times are ISO strings. */
export interface ShownJobs {
  readonly state?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The same jobs, in the words of an act on many: it has no `due`, which is a time there. `now`: ISO text. */
export function bulkFilterOf({ state, from, to }: ShownJobs, now: string): WaitingFilterWire {
  const dueFrom = state === 'waiting' ? latest(from, now) : from;
  const dueTo = state === 'due' ? earliest(to, now) : to;
  return {
    ...(dueFrom !== undefined && { dueFrom }),
    ...(dueTo !== undefined && { dueTo }),
    ...(state === 'retrying' && { state }),
    ...((state === 'waiting' || state === 'due') && { state: 'waiting' }),
  };
}

function latest(a: string | undefined, b: string): string {
  return a !== undefined && Date.parse(a) > Date.parse(b) ? a : b;
}

function earliest(a: string | undefined, b: string): string {
  return a !== undefined && Date.parse(a) < Date.parse(b) ? a : b;
}
