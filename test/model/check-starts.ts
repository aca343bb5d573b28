import { hasEnded, isUndone } from './call-results.js';
import { lossBetween } from './excuses.js';
import type { Call, Grant, History, Start } from './history.js';
import type { Plan } from './plan.js';
import type { Simulation } from './simulation.js';
import { tellGrant, tellStart } from './telling.js';

/** Nothing starts before its time, or at a time that nobody asked for. */
export function startsInTime({ history, plan }: Simulation): string[] {
  const found: string[] = [];
  for (const start of history.starts) {
    const { at, due, headerDue } = start;
    const description = tellStart(history, start);
    if (at < due || due < headerDue) found.push(`early: ${description} was due at ${history.when(due)}`);
    if (!isAsked(history, plan, start)) {
      found.push(`time: ${description} has a copy for ${history.when(headerDue)}, which nobody asked for`);
    }
  }
  return found;
}

/** After the answer to a revoke, a replacement or a move, no run is granted to a generation that it ended. */
export function endedStayOver({ history }: Simulation): string[] {
  const found: string[] = [];
  for (const call of history.calls) {
    const { operation, ended, id, answer } = call;
    if (ended === undefined || id === undefined || !hasEnded(call)) continue;
    for (const grant of history.grants) {
      if (grant.request.id !== id || grant.at <= ended || !covers(history, call, grant)) continue;
      // If the ledger lost the generation before, it did not know its copies.
      const { generation } = grant.request;
      const since = generation === 0 ? call.began : Math.min(call.began, generation);
      if (lossBetween(history, id, since, grant.at)) continue;
      const what = `${operation.kind} #${call.number} (${String(call.receipt?.status ?? answer)})`;
      found.push(
        `${operation.kind}: ${tellGrant(history, grant)} after ${what} was answered at ${history.when(ended)}`,
      );
    }
  }
  return found;
}

/**
 * A job has one schedule: what was opened before a run of an older one was granted never runs, whatever became of the process
 * that opened it.
 */
export function oneSchedule({ history }: Simulation): string[] {
  const found: string[] = [];
  for (const grant of history.grants) {
    const { id, generation } = grant.request;
    const older = history.grants.find(
      ({ at, request }) =>
        request.id === id && request.generation < generation && at > generation + 1 && at < grant.at,
    );
    if (!older || lossBetween(history, id, generation, grant.at)) continue;
    found.push(`both: ${tellGrant(history, grant)} after ${tellGrant(history, older)}`);
  }
  return found;
}

/** The payload of an add or a move that certainly failed never starts. */
export function failedNeverStart({ history }: Simulation): string[] {
  const found: string[] = [];
  for (const call of history.calls) {
    const { operation } = call;
    if (!isUndone(call)) continue;
    const payload =
      operation.kind === 'add'
        ? operation.number
        : operation.kind === 'reschedule'
          ? operation.payload?.number
          : undefined;
    for (const start of history.starts) {
      if (start.payload !== payload || lossBetween(history, start.id, call.began, start.at)) continue;
      // Its tombstone is lost before its copies reach the frozen nodes, and no call tells its id.
      const isLost = history.losses.some(
        ({ at, whileFrozen }) => whileFrozen && at >= call.began && at <= start.at,
      );
      if (call.id === undefined && isLost) continue;
      found.push(`undone: ${tellStart(history, start)}, although #${call.number} had failed`);
    }
  }
  return found;
}

function isAsked(history: History, plan: Plan, { id, born, headerDue, payload, at }: Start): boolean {
  const tolerance = 10 + 20 * plan.latency;
  for (const call of history.calls) {
    const { operation, due } = call;
    // An add that failed is tried again under another id, after the ledger has a tombstone for the first id. The ledger may
    // lose the tombstone while the first copies are still on their way to frozen nodes.
    const isLost = history.losses.some((loss) => loss.at >= call.began && loss.at <= at);
    const isOwn = call.id === undefined || call.id === id || (operation.kind === 'add' && isLost);
    if (!due || call.began > at || !isOwn) continue;
    const ownPayload =
      operation.kind === 'add'
        ? operation.number === payload
        : operation.kind !== 'reschedule' || !operation.payload || operation.payload.number === payload;
    if (!ownPayload) continue;
    // If the instant is past when the call reaches it, the job is due at once.
    const latest =
      (due.exact
        ? Math.max(due.from, call.ended ?? Infinity)
        : (call.ended ?? Infinity) + (due.from - call.began)) + tolerance;
    if (headerDue >= due.from - (due.exact ? 0 : tolerance) && headerDue <= latest) return true;
  }
  return history.starts.some(
    (before) =>
      before.id === id &&
      before.born === born &&
      before.ended?.how === 'again' &&
      headerDue >= before.ended.at + before.step.delay - tolerance,
  );
}

/** Whether the call ended the generation of this grant. The number of a generation is the time at which it was opened. */
function covers(history: History, call: Call, { request }: Grant): boolean {
  const { generation, born } = request;
  if (call.operation.kind === 'add') return generation < call.born!;
  if (call.born !== undefined && call.born !== born) return false;
  return generation < Math.floor(call.began) && !revivedSince(history, call, generation);
}

/** Whether a revive after the call may have opened the generation. */
function revivedSince(history: History, call: Call, generation: number): boolean {
  return (
    generation > 0 &&
    history.calls.some(
      ({ operation, id, ended = Infinity }) =>
        operation.kind === 'revive' && id === call.id && ended > call.began,
    )
  );
}
