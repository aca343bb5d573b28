import { AHEAD_MS } from 'nest-dq/src/ledger/ledger.js';
import { crashed, excused } from './excuses.js';
import type { History, Start } from './history.js';
import type { Simulation } from './simulation.js';
import { tellGrant, tellStart } from './telling.js';

/** At no time are there more runs than the limits allow, unless a process could not hold its lease, or the ledger lost its records. */
export function runsLimited({ history, plan }: Simulation): string[] {
  const { concurrency = Infinity, perGroup = Infinity } = plan.limit ?? {};
  const found: string[] = [];
  const { starts } = history;
  starts.forEach((start, i) => {
    if (excused(history, start, start.at)) return;
    const others = starts.slice(0, i).filter((before) => goesOn(history, before, start));
    const group = groupOf(history, start);
    const ofGroup = group ? others.filter((other) => groupOf(history, other) === group) : [];
    if (others.length >= concurrency)
      found.push(`concurrency: ${tellStart(history, start)} next to ${others.length}`);
    if (ofGroup.length >= perGroup)
      found.push(`group: ${tellStart(history, start)} of ${group} next to ${ofGroup.length}`);
  });
  return found;
}

/** No run is granted, and none starts, before its turn, as far as the ledger can know that. */
export function rateHeld({ history, plan }: Simulation): string[] {
  const { rate, burst = 1 } = plan.limit ?? {};
  if (rate === undefined) return [];
  const interval = Math.ceil(1_000_000 / rate);
  const found: string[] = [];
  let turn = 0;
  let last = 0;
  for (const grant of history.grants) {
    const { at, fence, request } = grant; // a fence is the time of its grant, in microseconds
    if (history.losses.some((loss) => loss.at >= last && loss.at <= at)) turn = 0;
    last = at;
    const from = turn - (burst - 1) * interval;
    if (from - fence > AHEAD_MS * 1_000) found.push(`rate: ${tellGrant(history, grant)} too soon`);
    const start = history.starts.find((each) => each.id === request.id && each.fence === fence);
    if (start && start.at < Math.floor(from / 1_000))
      found.push(`rate: ${tellStart(history, start)} before its turn`);
    turn = Math.max(turn, fence) + interval;
  }
  return found;
}

/** Whether the run certainly counts when the other one starts. */
function goesOn(history: History, run: Start, { at }: Start): boolean {
  if (run.ended && run.ended.at <= at) return false;
  return !crashed(history, run.process, run.at, at) && !excused(history, run, at);
}

function groupOf(history: History, { id, fence }: Start): string | undefined {
  return history.grants.find((grant) => grant.request.id === id && grant.fence === fence)?.request.permit;
}
