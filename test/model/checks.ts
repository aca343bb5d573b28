import type { DqError } from 'nest-dq/src/errors.js';
import type { Call, Grant, History, Start } from './history.js';
import { SETTINGS, type Simulation } from './simulation.js';

/** Milliseconds. A process that does its part misses no lease by less. */
const HARMLESS = SETTINGS.lease / 3;

/** What the library promises, asked of what happened. Each answer begins with the promise's name and a colon. */
export function check(simulation: Simulation): string[] {
  const { history } = simulation;
  const checker = new Checker(simulation);
  return [
    ...history.faults,
    ...checker.early(),
    ...checker.voided(),
    ...checker.undone(),
    ...checker.fences(),
    ...checker.duplicates(),
    ...checker.overlaps(),
    ...checker.attempts(),
    ...checker.lost(),
    ...checker.unrevived(),
    ...checker.calls(),
    ...checker.leftovers(),
  ];
}

class Checker {
  private readonly history: History;

  constructor(private readonly simulation: Simulation) {
    this.history = simulation.history;
  }

  /** Nothing starts before its time, or at a time that nobody asked for. */
  early(): string[] {
    const found: string[] = [];
    for (const start of this.history.starts) {
      const { at, due, headerDue } = start;
      if (at < due || due < headerDue) found.push(`early: ${this.tell(start)} was due at ${this.when(due)}`);
      if (!this.isAsked(start)) {
        found.push(
          `time: ${this.tell(start)} has a copy for ${this.when(headerDue)}, which nobody asked for`,
        );
      }
    }
    return found;
  }

  /** After a revoke, a replacement or a move was answered, nothing of what it ended is allowed to start. */
  voided(): string[] {
    const found: string[] = [];
    for (const call of this.history.calls) {
      const { operation, ended, id, answer } = call;
      if (ended === undefined || id === undefined || !this.ends(call)) continue;
      for (const grant of this.history.grants) {
        if (grant.request.id !== id || grant.at <= ended || !this.covers(call, grant)) continue;
        // The ledger may have lost the generation before, and then nobody knew of its copies.
        const { generation } = grant.request;
        const since = generation === 0 ? call.began : Math.min(call.began, generation);
        if (this.lossBetween(id, since, grant.at)) continue;
        const what = `${operation.kind} #${call.number} (${String(call.receipt?.status ?? answer)})`;
        found.push(
          `${operation.kind}: ${this.tellGrant(grant)} after ${what} was answered at ${this.when(ended)}`,
        );
      }
    }
    return found;
  }

  /** What an add or a move did not bring about never starts. */
  undone(): string[] {
    const found: string[] = [];
    for (const call of this.history.calls) {
      const { operation } = call;
      if (!this.isUndone(call)) continue;
      const payload =
        operation.kind === 'add'
          ? operation.number
          : operation.kind === 'reschedule'
            ? operation.payload?.number
            : undefined;
      for (const start of this.history.starts) {
        if (start.payload !== payload || this.lossBetween(start.id, call.began, start.at)) continue;
        found.push(`undone: ${this.tell(start)}, although #${call.number} had failed`);
      }
    }
    return found;
  }

  /** A later run has a larger fence, and the end of an earlier one does not count any more. */
  fences(): string[] {
    const found: string[] = [];
    const latest = new Map<string, Grant>();
    for (const grant of this.history.grants) {
      const { id } = grant.request;
      const before = latest.get(id);
      if (before && before.fence >= grant.fence)
        found.push(`fence: ${this.tellGrant(grant)}, not above ${before.fence}`);
      latest.set(id, grant);
    }
    for (const { at, request, answer, process } of this.history.finishes) {
      const { id, fence } = request;
      if (answer === 'refused') continue;
      const later = this.history.grants.find(
        (grant) => grant.request.id === id && grant.fence > fence && grant.at < at,
      );
      const isRepeat = this.history.finishes.some(
        (other) =>
          other.request.id === id &&
          other.request.fence === fence &&
          other.at < at &&
          other.answer === answer,
      );
      if (!later || isRepeat || this.lossBetween(id, later.at, at)) continue;
      found.push(
        `stale: ${process}'s end of ${this.history.name(id)} was taken at ${this.when(at)} after ${this.tellGrant(later)}`,
      );
    }
    const ends = new Map<string, { fence: number; at: number }>();
    for (const { at, request, answer } of this.history.finishes) {
      const { id, generation, fence, outcome } = request;
      if (outcome.kind !== 'done' || answer !== 'ok') continue;
      const before = ends.get(`${id} ${generation}`);
      if (before && before.fence !== fence && !this.lossBetween(id, before.at, at)) {
        found.push(
          `twice: ${this.history.name(id)} was done twice, at ${this.when(before.at)} and ${this.when(at)}`,
        );
      }
      ends.set(`${id} ${generation}`, { fence, at });
    }
    return found;
  }

  /** One successful run, unless its process could not keep its lease or tell of it. */
  duplicates(): string[] {
    const found: string[] = [];
    const done = new Map<string, Start>();
    for (const start of this.history.starts) {
      if (start.ended?.how !== 'done') continue;
      const generation = `${start.id} ${this.generationOf(start)}`;
      const before = done.get(generation);
      if (before && !this.excused(before, start.at))
        found.push(`duplicate: ${this.tell(start)} after ${this.tell(before)}`);
      done.set(generation, start);
    }
    return found;
  }

  /** No two runs of a job at a time, its replaced ones included. */
  overlaps(): string[] {
    const found: string[] = [];
    const { starts } = this.history;
    starts.forEach((start, i) => {
      for (const before of starts.slice(0, i)) {
        if (before.id !== start.id) continue;
        if (before.ended && before.ended.at <= start.at) continue;
        if (this.crashed(before, start.at) || this.excused(before, start.at)) continue;
        found.push(`overlap: ${this.tell(start)} while ${this.tell(before)}`);
      }
    });
    return found;
  }

  /** Each run of a generation is one attempt more, but for those that a drain gave back; and there are not too many. */
  attempts(): string[] {
    const found: string[] = [];
    const latest = new Map<string, Grant>();
    for (const grant of this.history.grants) {
      const { attempt, at, request } = grant;
      const { id, generation } = request;
      const before = latest.get(`${id} ${generation}`);
      latest.set(`${id} ${generation}`, grant);
      if (attempt > request.attempts)
        found.push(`attempts: ${this.tellGrant(grant)} is attempt ${attempt} of ${request.attempts}`);
      if (this.history.losses.some((loss) => loss.at <= at)) continue;
      const expected = before ? before.attempt + (this.isBack(before) ? 0 : 1) : 1;
      if (attempt !== expected)
        found.push(`attempts: ${this.tellGrant(grant)} is attempt ${attempt}, not ${expected}`);
    }
    return found;
  }

  /** Every job that was scheduled, and neither revoked nor replaced, has ended; so has one of those that replaced each other. */
  lost(): string[] {
    const found: string[] = [];
    const adds = this.history.calls.filter(({ operation }) => operation.kind === 'add');
    for (const add of adds) {
      if (!add.receipt || add.receipt.status === 'kept' || this.isOver(add)) continue;
      const rivals = adds.filter(
        (other) =>
          other !== add &&
          other.operation.kind === 'add' &&
          other.operation.key !== undefined &&
          other.id === add.id &&
          !this.isUndone(other) &&
          (other.ended ?? Infinity) >= add.began,
      );
      if (rivals.some((rival) => this.isOver(rival)) || this.isOutrun(add)) continue;
      found.push(`lost: ${this.history.name(add.id!)} of #${add.number} never ended`);
    }
    return found;
  }

  /** What was revived runs. */
  unrevived(): string[] {
    return this.history.calls
      .filter(({ operation, answer }) => operation.kind === 'revive' && answer === true)
      .filter((call) => {
        const { id, began } = call;
        const { starts, robberies, calls, died } = this.history;
        if ((died.get(id!) ?? 0) > began) return false;
        if (starts.some((start) => start.id === id && start.at >= began)) return false;
        if (robberies.some((robbery) => robbery.id === id && robbery.at >= began)) return false;
        return !calls.some(
          (other) =>
            other !== call && other.id === id && this.mayEnd(other) && (other.ended ?? Infinity) >= began,
        );
      })
      .map(({ id, number }) => `lost: ${this.history.name(id!)} never ran after #${number} had revived it`);
  }

  /** Every call was answered, with what it may say. */
  calls(): string[] {
    const found: string[] = [];
    for (const { number, operation, process, ended, error } of this.history.calls) {
      if (ended === undefined && !this.crashedAfter(process, 0))
        found.push(`hangs: #${number} ${operation.kind}`);
      if (error && !(error as DqError).code?.startsWith('DQ_'))
        found.push(`error: #${number} ${error.stack}`);
    }
    return found;
  }

  /** In the end the nodes have dead copies only, and the ledger nothing but letters. */
  leftovers(): string[] {
    const { nodes, ledger, history } = this.simulation;
    const found: string[] = [];
    for (const node of nodes) {
      for (const { header, state } of node.copies()) {
        const letter = [...ledger.letters.values()].some(
          ({ id, born }) => id === header.id && born === header.born,
        );
        if (state === 'buried' && (letter || this.isLetterGone(header.id))) continue;
        const copy = `${history.name(header.id)} ${history.generation(header.generation)} copy ${header.index}`;
        found.push(`left: ${copy} is ${state} on ${node.endpoint}`);
      }
    }
    // At worst a record is needed until what is due last is stale; at best, without any fault, nothing is owed.
    const { plan, restAt } = this.simulation;
    const isCalm = plan.latency <= 10 && !plan.actions.some((action) => 'fault' in action);
    const latestDue = Math.max(
      restAt,
      ...history.starts.map(({ headerDue }) => headerDue),
      ...history.calls.map(({ due, began, ended = began }) => (due ? due.from - began + ended : 0)),
    );
    const longest = isCalm ? restAt + SETTINGS.doneTtl : latestDue + SETTINGS.staleAfter + 60_000 + 10_000;
    for (const [id, { expiresAt, state }] of ledger.records) {
      if (expiresAt <= longest) continue;
      // A dead copy stays where it is, and so does what is owed, also under a newer job of the same key.
      if (state !== 'dead' && !history.died.has(id))
        found.push(`record: of ${history.name(id)}, ${state}, until ${this.when(expiresAt)}`);
    }
    return found;
  }

  /** The ledger lost that a run was replaced, and then the run went on as the job. */
  private isOutrun({ id, born, began }: Call): boolean {
    return this.history.finishes.some(
      ({ at, request, answer }) =>
        request.id === id &&
        request.born !== born &&
        request.outcome.kind === 'again' &&
        answer === 'ok' &&
        this.lossBetween(id, began, at),
    );
  }

  private isBack({ request: { id }, fence }: Grant): boolean {
    return this.history.finishes.some(
      ({ request, answer }) =>
        request.id === id && request.fence === fence && request.outcome.kind === 'back' && answer === 'ok',
    );
  }

  // ── what calls mean ──

  private ends({ operation, answer, receipt }: Call): boolean {
    switch (operation.kind) {
      case 'add':
        return operation.key !== undefined && receipt !== undefined && receipt.status !== 'kept';
      case 'revoke':
        return answer === 'revoked' || answer === 'running';
      case 'reschedule':
        return answer === 'rescheduled';
      case 'discard':
        return answer === true;
      default:
        return false;
    }
  }

  /** Generations count the time at which they were opened. */
  private covers(call: Call, { request }: Grant): boolean {
    const { generation, born } = request;
    if (call.operation.kind === 'add') return generation < call.born!;
    if (call.born !== undefined && call.born !== born) return false;
    return generation < Math.floor(call.began) && !this.revivedSince(call, generation);
  }

  /** A revive that came after the call opened the generation. */
  private revivedSince(call: Call, generation: number): boolean {
    return (
      generation > 0 &&
      this.history.calls.some(
        ({ operation, id, ended = Infinity }) =>
          operation.kind === 'revive' && id === call.id && ended > call.began,
      )
    );
  }

  /** It may have ended the job, or put another in its place. */
  private mayEnd({ operation, answer }: Call): boolean {
    if (operation.kind === 'revoke') return answer !== 'done' && answer !== 'dead';
    return (
      operation.kind === 'discard' ||
      operation.kind === 'add' ||
      operation.kind === 'reschedule' ||
      operation.kind === 'revive'
    );
  }

  /** It is certain that nothing came of it. */
  private isUndone({ operation, answer, error, receipt, ended }: Call): boolean {
    if (ended === undefined) return false;
    if (operation.kind === 'add') {
      return error ? (error as DqError).indeterminate !== true : receipt?.status === 'kept';
    }
    if (operation.kind !== 'reschedule') return false;
    return error ? (error as DqError).indeterminate !== true : answer !== 'rescheduled';
  }

  private isAsked({ id, born, headerDue, payload, at }: Start): boolean {
    const tolerance = 10 + 20 * this.simulation.plan.latency;
    for (const call of this.history.calls) {
      const { operation, due } = call;
      if (!due || call.began > at || (call.id !== undefined && call.id !== id)) continue;
      const ownPayload =
        operation.kind === 'add'
          ? operation.number === payload
          : operation.kind !== 'reschedule' || !operation.payload || operation.payload.number === payload;
      if (!ownPayload) continue;
      // An instant that is over by then is now.
      const latest =
        (due.exact
          ? Math.max(due.from, call.ended ?? Infinity)
          : (call.ended ?? Infinity) + (due.from - call.began)) + tolerance;
      if (headerDue >= due.from - (due.exact ? 0 : tolerance) && headerDue <= latest) return true;
    }
    return this.history.starts.some(
      (before) =>
        before.id === id &&
        before.born === born &&
        before.ended?.how === 'again' &&
        headerDue >= before.ended.at + before.step.delay - tolerance,
    );
  }

  private isOver(add: Call): boolean {
    const { id, born, operation } = add;
    if (operation.kind !== 'add' || id === undefined) return false;
    const { starts, died, robberies, calls } = this.history;
    if (
      starts.some(
        (start) =>
          start.id === id &&
          (born === undefined ? start.payload === operation.number : start.born === born) &&
          start.ended?.how === 'done',
      )
    )
      return true;
    if (
      (died.get(id) ?? 0) >= add.began ||
      robberies.some((robbery) => robbery.id === id && robbery.at >= add.began)
    )
      return true;
    return calls.some(
      (call) =>
        (call.operation.kind === 'revoke' || call.operation.kind === 'discard') &&
        call.id === id &&
        (call.born === undefined || call.born === born) &&
        (call.ended ?? Infinity) >= add.began &&
        ((call.answer !== 'done' && call.answer !== 'dead') ||
          // By a key it takes what Redis has lost, too, although the answer is about what it has.
          (call.born === undefined && this.history.losses.some(({ at }) => at <= call.began))),
    );
  }

  /** A copy that lay buried on a node which was away then, or that a lost ledger knew of, stays there: nobody asks for it. */
  private isLetterGone(id: string): boolean {
    const taken = this.history.calls.some(
      ({ operation, id: of }) => of === id && (operation.kind === 'revive' || operation.kind === 'discard'),
    );
    return taken || this.history.died.has(id);
  }

  // ── what excuses ──

  /** The ledger lost records while copies of the job lay somewhere. */
  private lossBetween(id: string, from: number, to: number): boolean {
    return this.history.losses.some(({ at, copies }) => at >= from && at <= to && copies.has(id));
  }

  /** The run's process was not able to hold its lease, or to tell how it ended, until then. */
  private excused(run: Start, until: number): boolean {
    const disturbed = this.history.disturbances.some(
      ({ process, kind, from, to }) =>
        process === run.process &&
        // What a drain gave back runs elsewhere, a little before its process dies.
        from - (kind === 'crash' ? 3_000 : 0) <= until &&
        to >= run.at - SETTINGS.lease &&
        (kind === 'crash' || to - from >= HARMLESS),
    );
    return disturbed || this.lossBetween(run.id, run.at - SETTINGS.lease, until);
  }

  private crashed({ process, at }: Start, until: number): boolean {
    return this.history.disturbances.some(
      (each) => each.process === process && each.kind === 'crash' && each.from >= at && each.from <= until,
    );
  }

  private crashedAfter(process: string, at: number): boolean {
    return this.history.disturbances.some(
      (each) => each.process === process && each.kind === 'crash' && each.from >= at,
    );
  }

  private generationOf({ id, fence }: Start): number {
    const grant = this.history.grants.find((each) => each.request.id === id && each.fence === fence);
    return grant?.request.generation ?? -1;
  }

  // ── texts ──

  private tell({ process, id, payload, at }: Start): string {
    return `${process} started ${this.history.name(id)} (payload ${payload}) at ${this.when(at)}`;
  }

  private tellGrant({ process, request, at }: Grant): string {
    const { id, generation } = request;
    return `${process} was given ${this.history.name(id)} ${this.history.generation(generation)} at ${this.when(at)}`;
  }

  private when(at: number): string {
    const start = this.simulation.world.wall() - this.simulation.world.now();
    return ((at - start) / 1_000).toFixed(3);
  }
}
