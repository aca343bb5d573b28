import type { Grant, History } from './history.js';
import type { Simulation } from './simulation.js';
import { tellGrant, tellStart } from './telling.js';

/** No run is granted at the expiry of its job or later, whatever the ledger has lost, and none of such jobs starts after it. */
export function expiredStayOver({ history, plan }: Simulation): string[] {
  const found: string[] = [];
  for (const grant of history.grants) {
    const { at, startBy, request } = grant;
    const asked = askedFor(history, grant);
    if (asked !== request.expiry?.startBy)
      found.push(`expiry: ${tellGrant(history, grant)} with ${request.expiry?.startBy}, not ${asked}`);
    if (startBy !== undefined && at >= startBy)
      found.push(`expired: ${tellGrant(history, grant)}, but expired at ${history.when(startBy)}`);
  }
  // The time is by its process's clock, which is wrong by half a round trip at most.
  const tolerance = 10 + 20 * plan.latency;
  for (const start of history.starts) {
    const grant = history.grants.find(
      ({ request, fence }) => request.id === start.id && fence === start.fence,
    );
    if (grant?.startBy === undefined || start.at < grant.startBy + tolerance) continue;
    found.push(`expired: ${tellStart(history, start)}, but expired at ${history.when(grant.startBy)}`);
  }
  return found;
}

/** The expiry of a copy: that of its add, counted from its due time. Unknown adds are left out. */
function askedFor({ calls }: History, { request }: Grant): number | undefined {
  const add = calls.find(
    ({ operation, id, born }) => operation.kind === 'add' && id === request.id && born === request.born,
  );
  if (add?.operation.kind !== 'add') return request.expiry?.startBy;
  const { expireAfter } = add.operation;
  return expireAfter === undefined ? undefined : Math.ceil(request.due) + expireAfter;
}
