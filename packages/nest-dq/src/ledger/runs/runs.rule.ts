// ◆ marks a rule of docs/internals/delivery.md.
// Who runs a job, and how the run ends: the same rules as the scripts next to it, step by step.
import { abortOpened, addAborted, wasOpened } from '../schedules/aborted.rule.js';
import {
  confirm,
  emptyRecord,
  endRun,
  giveUp,
  isOver,
  keepFailure,
  newRecord,
  NO_GENERATION,
  swap,
  take,
  voided,
  type JobRecord,
} from '../records/job-record.js';
import { YOUNG_MS } from '../ledger.js';
import type {
  ClaimAnswer,
  ClaimRequest,
  CompleteAnswer,
  CompleteRequest,
  Death,
  Expiry,
  ExtendAnswer,
  Letter,
  ProgressRequest,
  RunRef,
} from '../requests.js';
import {
  holdPermit,
  limited,
  returnLapsed,
  returnPermit,
  takeTurn,
  type Claiming,
} from '../limits/limits.rule.js';
import { forgiven, pausedFor } from '../pauses/pauses.rule.js';
import type { Records, Moment } from '../records/records.js';
import { owe } from '../records/owed-copies.rule.js';
import { keepFinished } from '../finished/finished.rule.js';

/** Pause before checking a run whose end isn't announced: a replaced run notifies nobody, and a spared one may have ended. */
const RECHECK_AFTER_MS = 1_000;

export function claim(
  records: Records,
  request: ClaimRequest,
  time: Moment,
  claiming: Claiming = {},
): ClaimAnswer {
  const { id, generation, born, token, permit } = request;
  const { sparedFrom = Infinity } = claiming;
  returnLapsed(records, claiming, time);
  const { now } = time;
  const { lease, staleAfter } = records.settings;
  const record = records.read(id, time);
  const committed = record?.committed ?? NO_GENERATION;
  const current = generation === committed;
  const running = record?.state === 'running';
  if (record) {
    if (isOver(record, generation)) {
      if (current) records.index.delete(id);
      return { kind: 'gone' };
    }
    if (current && record.state === 'dead') return { kind: 'dead', fresh: false };
  }
  // The number of a generation is its opening time.
  const age = now - generation;
  if (generation > committed && age < YOUNG_MS) {
    return { kind: 'wait', ms: Math.min(500, Math.max(20, Math.abs(age))) };
  }
  if (record) {
    // The job was born after the committed one: Redis has lost its add too, and there is nothing it was moved from.
    const moved = !current && committed !== NO_GENERATION && born !== generation && born <= committed;
    const leased = Math.max(record.leaseEnd, record.holdEnd);
    const left = leased - now;
    if (running && current && record.token === token && (left > 0 || !record.noFurtherStart)) {
      record.leaseEnd = now + lease;
      holdPermit(records, id, permit, record.leaseEnd, time);
      records.writeListed(id, record, time);
      const { fence, attempt, due, startBy } = record;
      return { kind: 'run', fence, attempt, due, ...(startBy !== undefined && { startBy }) };
    }
    const spared = left <= 0 && leased > 0 && leased >= sparedFrom;
    if ((left > 0 || spared) && !(moved && record.born !== born)) {
      const ranFor = Math.max(0, Math.floor((time.us - record.fence) / 1_000));
      const ms = spared ? RECHECK_AFTER_MS : record.leaseEnd > now ? left : Math.min(left, RECHECK_AFTER_MS);
      return { kind: 'busy', ms, ranFor };
    }
    if (running && current && record.noFurtherStart) {
      endRun(record, 'revoked');
      records.writeListed(id, record, time);
      return { kind: 'gone' };
    }
    // By now no run has a lease. What a lapsed run left may be all that Redis kept of an Again, and a letter may be all it kept
    // of a revival.
    const { state, noFurtherStart } = record;
    const rests = (running && !noFurtherStart) || state === 'waiting' || state === 'dead';
    if (moved && !(rests && record.born === born)) {
      // Whoever moved the job was lost before the commit. Its old generation is over, or is another job by now.
      addAborted(record, generation); // a commit may still come, when the copies are gone
      records.writeListed(id, record, time);
      return { kind: 'gone' };
    }
  }
  const due = record && current ? record.due : request.due;
  const attempt = record && current ? record.attempt : 0;
  if (due > now + records.ahead) return { kind: 'wait', ms: due - now };
  const pausedMs = pausedFor(records, time);
  if (pausedMs !== undefined) return { kind: 'paused', ms: pausedMs };
  const next = record ?? newRecord(generation, born, due);
  const { expiry } = request;
  const startBy = expiry && ((current ? record?.startBy : undefined) ?? expiry.startBy);
  // Before the limits, so that expired jobs use up no turn, and before its age, because an expired job needs nobody.
  if (startBy !== undefined && Math.max(now, due) >= startBy && attempt < request.attempts) {
    if (next.committed !== generation) {
      if (next.state === 'dead' && next.born === born) records.dropLetter(id, born);
      swap(next, born, { generation, due, places: [] });
    }
    expire(records, id, next, expiry!, time);
    return { kind: 'expired', letter: expiry!.letter };
  }
  // An ended record may stem from an older copy, which created it after everything was forgotten. So it doesn't know this
  // generation. Neither does a record created by the opening of another.
  const knows = record && (committed !== NO_GENERATION || wasOpened(record, generation));
  const live = knows && (record.state === 'waiting' || running);
  if (!current && !live && due + staleAfter + forgiven(records, due, time) < now) {
    if (record) swap(next, born, { generation, due, places: [] });
    bury(records, id, next, 'stale', time);
    return { kind: 'stale' };
  }
  if (attempt >= request.attempts) {
    bury(records, id, next, 'attempts', time);
    return { kind: 'dead', fresh: true };
  }
  const refused = limited(records, permit, claiming, time);
  if (refused) return refused;
  if (!current) {
    // A newer generation is committed by its first run ◆: a lost commit loses no job.
    if (next.state === 'dead' && next.born === born) records.dropLetter(id, born);
    swap(next, born, { generation, due, places: [] });
  }
  // This schedule takes effect ◆. One that was about to replace it must not, or both would run.
  abortOpened(next, committed);
  endRun(next, 'running');
  const turn = takeTurn(records, claiming, time);
  next.due = due;
  next.attempt = attempt + 1;
  next.fence = newFence(next, time);
  next.leaseEnd = now + lease;
  next.token = token;
  holdPermit(records, id, permit, next.leaseEnd, time);
  records.writeListed(id, next, time);
  return {
    kind: 'run',
    fence: next.fence,
    attempt: next.attempt,
    due,
    ...(turn > due && { notBefore: turn }),
    ...(next.startBy !== undefined && { startBy: next.startBy }),
  };
}

export function complete(records: Records, request: CompleteRequest, time: Moment): CompleteAnswer {
  const { id, generation, owed, outcome } = request;
  const record = records.read(id, time) ?? records.madeAnew(request, time);
  const later = outcome.kind === 'later';
  const opened = later || outcome.kind === 'again' ? outcome : undefined;
  if (opened && record?.committed === opened.generation) {
    // A claim came first: its lease was over.
    if (later) return 'refused';
    // A repeat, whoever runs it by now.
    confirm(record, opened);
    records.writeListed(id, record, time);
    return 'ok';
  }
  if (!record || record.fence !== request.fence) return refuse(records, request, time, record);
  returnPermit(records, request);
  if (generation < record.committed) {
    // It was replaced while it ran, and only held up its successor.
    record.holdEnd = 0;
    record.abortAsked = false;
    if (opened) giveUp(record, opened);
    records.writeListed(id, record, time);
    return 'over';
  }
  if (record.state !== 'running') {
    if (record.state === 'revoked') return 'over';
    return outcome.kind === 'again' ? refuse(records, request, time, record) : 'ok';
  }
  const ends = outcome.kind === 'done' || outcome.kind === 'dead';
  const isOver = !ends && record.noFurtherStart;
  let surfaces = request.due;
  if (ends) {
    endRun(record, outcome.kind);
    if (outcome.kind === 'dead') {
      keepFailure(record, outcome.failure);
      addLetter(records, id, record, outcome.death, outcome.places, time);
    }
  } else if (isOver) {
    endRun(record, 'revoked');
  } else if (outcome.kind === 'again') {
    if (voided(record, outcome.generation)) return refuse(records, request, time, record);
    owe(record, request.due, owed);
    take(record, record.born, outcome);
  } else {
    endRun(record, 'waiting');
    if (outcome.kind === 'back') {
      // Its copies may surface at once, and the job keeps the due time of the run that didn't happen.
      surfaces = time.now;
      record.attempt = Math.max(0, record.attempt - 1);
    } else {
      surfaces = record.due = Math.ceil(outcome.due);
    }
    if (outcome.kind === 'retry') keepFailure(record, outcome.failure);
    if (later) record.attempt = 0;
    if (later) record.failures = undefined;
    if (outcome.kind === 'later') record.startBy = outcome.startBy;
    if (request.places && record.places.length === 0) record.places = request.places;
  }
  if (ends || isOver) record.places = [];
  if (outcome.kind !== 'again' || isOver) owe(record, surfaces, owed);
  if (opened && (isOver || later)) giveUp(record, opened);
  records.writeListed(id, record, time);
  if (outcome.kind === 'done' && outcome.kept) keepFinished(records, id, outcome.kept, time);
  return isOver ? 'over' : 'ok';
}

/** Drops the outcome, and with it the generation as which the job was to continue. */
function refuse(
  records: Records,
  { id, outcome }: CompleteRequest,
  time: Moment,
  record: JobRecord = emptyRecord(),
): CompleteAnswer {
  if (outcome.kind === 'again' || outcome.kind === 'later') {
    giveUp(record, outcome);
    records.writeListed(id, record, time);
  }
  return 'refused';
}

export function extend(records: Records, request: RunRef, time: Moment): ExtendAnswer {
  const record = records.read(request.id, time) ?? records.madeAnew(request, time);
  if (!record || record.fence !== request.fence) return 'refused';
  const leaseEnd = time.now + records.settings.lease;
  if (request.generation < record.committed && record.holdEnd > 0) {
    record.holdEnd = leaseEnd;
  } else {
    if (record.state !== 'running') return 'refused';
    record.leaseEnd = leaseEnd;
  }
  holdPermit(records, request.id, request.permit, leaseEnd, time);
  records.write(request.id, record, time);
  return record.abortAsked ? 'abort' : 'ok';
}

export function progress(
  records: Records,
  { id, fence, progress: reported }: ProgressRequest,
  time: Moment,
): void {
  const record = records.read(id, time);
  if (record?.fence !== fence || record.state !== 'running') return;
  record.progress = reported;
  records.noteChange('records', id);
}

/** Ends a job that hasn't started in time. Its new fence refuses whatever the last runner may still send. */
function expire(
  records: Records,
  id: string,
  record: JobRecord,
  { letter, owed }: Expiry,
  time: Moment,
): void {
  owe(record, record.due, owed);
  if (letter) return bury(records, id, record, 'expired', time);
  endRun(record, 'revoked');
  record.expired = true;
  record.fence = newFence(record, time);
  record.places = [];
  records.writeListed(id, record, time);
}

/** Declares a job dead in a claim. Its new fence refuses whatever the last runner may still send. */
function bury(records: Records, id: string, record: JobRecord, why: Death['why'], time: Moment): void {
  endRun(record, 'dead');
  // If no run reported its copies, one that nobody knows may come back with its node long after the letter is gone ◆.
  const toldOf = record.owed ?? record.counted;
  if (why === 'attempts' && !toldOf) owe(record, record.due, { mask: 0, unknown: true });
  record.fence = newFence(record, time);
  addLetter(records, id, record, { why }, record.places, time);
  record.places = [];
  records.writeListed(id, record, time);
}

function addLetter(
  records: Records,
  id: string,
  record: JobRecord,
  death: Death,
  places: Letter['places'],
  { now }: Moment,
): void {
  const { born, committed, due, attempt, failures } = record;
  record.failures = undefined;
  records.keepLetter({
    ...death,
    id,
    born,
    generation: committed,
    due,
    attempt,
    died: now,
    places,
    ...(failures && { failures }),
  });
}

function newFence(record: JobRecord, time: Moment): number {
  return Math.max(record.fence + 1, time.us);
}
