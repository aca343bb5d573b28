import { crashed, excused, lossBetween } from './excuses.js';
import type { Grant, History, Start } from './history.js';
import { SETTINGS } from './plan.js';
import type { Simulation } from './simulation.js';
import { tellGrant, tellStart } from './telling.js';

/** A later run has a larger fence. */
export function fencesGrow({ history }: Simulation): string[] {
  const found: string[] = [];
  const latest = new Map<string, Grant>();
  for (const grant of history.grants) {
    const { id } = grant.request;
    const before = latest.get(id);
    if (before && before.fence >= grant.fence) {
      found.push(`fence: ${tellGrant(history, grant)}, not above ${before.fence}`);
    }
    latest.set(id, grant);
  }
  return found;
}

/** After a later run was granted, the ledger refuses the outcome of an earlier one. */
export function lateEndsRefused({ history }: Simulation): string[] {
  const found: string[] = [];
  for (const { at, request, answer, process } of history.finishes) {
    const { id, fence, outcome } = request;
    if (answer === 'refused') continue;
    const later = history.grants.find(
      (grant) => grant.request.id === id && grant.fence > fence && grant.at < at,
    );
    const isRepeat = history.finishes.some(
      (other) =>
        other.request.id === id && other.request.fence === fence && other.at < at && other.answer === answer,
    );
    // A claim that came first has made the opened generation the job: that is what the outcome asks for.
    const isBegun = outcome.kind === 'again' && later?.request.generation === outcome.generation;
    if (!later || isRepeat || isBegun || lossBetween(history, id, later.at, at)) continue;
    const when = history.when(at);
    found.push(
      `stale: ${process}'s end of ${history.name(id)} was taken at ${when} after ${tellGrant(history, later)}`,
    );
  }
  return found;
}

/** The ledger takes the outcome done once for a generation. */
export function doneOnce({ history }: Simulation): string[] {
  const found: string[] = [];
  const ends = new Map<string, { fence: number; at: number }>();
  for (const { at, request, answer } of history.finishes) {
    const { id, generation, fence, outcome } = request;
    if (outcome.kind !== 'done' || answer !== 'ok') continue;
    const before = ends.get(`${id} ${generation}`);
    if (before && before.fence !== fence && !lossBetween(history, id, before.at, at)) {
      const [first, second] = [history.when(before.at), history.when(at)];
      found.push(`twice: ${history.name(id)} was done twice, at ${first} and ${second}`);
    }
    ends.set(`${id} ${generation}`, { fence, at });
  }
  return found;
}

/** There is one successful run, unless its process could not hold its lease or report its outcome. */
export function oneSuccess({ history }: Simulation): string[] {
  const found: string[] = [];
  const done = new Map<string, Start>();
  for (const start of history.starts) {
    if (start.ended?.how !== 'done') continue;
    const generation = `${start.id} ${generationOf(history, start)}`;
    const before = done.get(generation);
    if (before && !excused(history, before, start.at)) {
      found.push(`duplicate: ${tellStart(history, start)} after ${tellStart(history, before)}`);
    }
    done.set(generation, start);
  }
  return found;
}

/** A job never has two runs at a time. Runs of replaced generations count, too. */
export function oneAtATime({ history }: Simulation): string[] {
  const found: string[] = [];
  const { starts } = history;
  starts.forEach((start, i) => {
    for (const before of starts.slice(0, i)) {
      if (before.id !== start.id) continue;
      if (before.ended && before.ended.at <= start.at) continue;
      if (crashed(history, before.process, before.at, start.at)) continue;
      if (excused(history, before, start.at)) continue;
      found.push(`overlap: ${tellStart(history, start)} while ${tellStart(history, before)}`);
    }
  });
  return found;
}

/** After a run that said Again, the job does not run before the time that it said, unless its process could not report it. */
export function againIsHeeded({ history, plan }: Simulation): string[] {
  const found: string[] = [];
  for (const start of history.starts) {
    const { id, born, fence, ended, step } = start;
    if (ended?.how !== 'again') continue;
    // The time is by its process's clock, which is wrong by half a round trip at most.
    const time = ended.at + step.delay - (10 + 20 * plan.latency);
    const early = history.starts.find(
      (next) => next.id === id && next.born === born && next.fence > fence && next.at < time,
    );
    if (!early || excused(history, start, early.at) || movedBetween(history, start, early)) continue;
    found.push(`again: ${tellStart(history, early)}, before the time that ${tellStart(history, start)} said`);
  }
  return found;
}

/**
 * Each run of a generation has the next attempt number, except after a drain handed a run back, and after an Again. There
 * are never more attempts than allowed.
 */
export function attemptsCounted({ history }: Simulation): string[] {
  const found: string[] = [];
  const latest = new Map<string, Grant>();
  for (const grant of history.grants) {
    const { attempt, at, request } = grant;
    const { id, generation } = request;
    const before = latest.get(`${id} ${generation}`);
    latest.set(`${id} ${generation}`, grant);
    const description = `attempts: ${tellGrant(history, grant)} is attempt ${attempt}`;
    if (attempt > request.attempts) found.push(`${description} of ${request.attempts}`);
    if (history.losses.some((loss) => loss.at <= at)) continue;
    // No record stays longer than this after its times. A process that was frozen for longer finds it forgotten.
    const isForgotten = before && at - before.at > 2 * SETTINGS.staleAfter;
    if (isForgotten && attempt === 1) continue;
    const expected = before ? attemptAfter(history, before) : 1;
    if (attempt !== expected) found.push(`${description}, not ${expected}`);
  }
  return found;
}

function generationOf(history: History, { id, fence }: Start): number {
  const grant = history.grants.find((each) => each.request.id === id && each.fence === fence);
  return grant?.request.generation ?? -1;
}

function attemptAfter(history: History, { request: { id }, fence, attempt }: Grant): number {
  const taken = history.finishes.find(
    ({ request, answer }) => request.id === id && request.fence === fence && answer === 'ok',
  );
  const how = taken?.request.outcome.kind;
  return how === 'later' ? 1 : how === 'back' ? attempt : attempt + 1;
}

function movedBetween(history: History, from: Start, to: Start): boolean {
  return history.calls.some(
    ({ operation, id, began, ended = Infinity }) =>
      (operation.kind === 'reschedule' || operation.kind === 'revive') &&
      id === from.id &&
      began <= to.at &&
      ended >= from.at,
  );
}
