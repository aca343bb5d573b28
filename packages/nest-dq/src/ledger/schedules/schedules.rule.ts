// ◆ marks a rule of docs/internals/delivery.md.
// Which generation of a job counts: the same rules as the scripts next to it, step by step.
import { wasOpened } from './aborted.rule.js';
import {
  confirm,
  emptyRecord,
  endRun,
  giveUp,
  isLive,
  mayHaveCounted,
  newRecord,
  NO_GENERATION,
  progressOf,
  scheduleOf,
  take,
  voided,
  type JobRecord,
} from '../records/job-record.js';
import type {
  AbortAnswer,
  AbortRequest,
  CommitAnswer,
  CommitRequest,
  OpenAnswer,
  OpenRequest,
  Opening,
  Refusal,
  RevokeAnswer,
  RevokeRequest,
  Schedule,
  Trace,
} from '../requests.js';
import type { Records, Moment } from '../records/records.js';
import { count, narrow, owe } from '../records/owed-copies.rule.js';

/** Number of ranges of aborted generations a record remembers: adds of a key can keep failing without end. */
const MAX_ABORTED = 16;

export function open(records: Records, request: OpenRequest, time: Moment): OpenAnswer {
  const { id, opening, due, announced, known } = request;
  const { now } = time;
  let record = records.read(id, time);
  if (!record && opening.by === 'add') record = emptyRecord();
  if (!record && opening.by === 'again') record = records.madeAnew(opening.run, time);
  if (!record && opening.by === 'move' && known) {
    record = newRecord(known.generation, known.born, known.due);
    record.places = known.places;
  }
  if (!record) return { kind: 'refused', why: 'unknown' };
  const present = scheduleOf(record, now);
  const why = refusal(record, opening, now);
  if (why) return { kind: 'refused', why, present };
  const { committed, opened, floor } = record;
  const generation = Math.max(committed + 1, opened + 1, floor + 1, now);
  if (record.firstOpened < 0) record.firstOpened = opened;
  record.opened = generation;
  // A sign of life: the copies are about to be stored, and meanwhile nobody else may start.
  if (opening.by === 'again') record.leaseEnd = now + records.settings.lease;
  if (known?.generation === committed) owe(record, known.due, known.owed);
  count(record, generation, Math.ceil(due), announced);
  records.write(id, record, time);
  return { kind: 'opened', generation, present: isLive(record) ? present : undefined };
}

export function commit(records: Records, request: CommitRequest, time: Moment): CommitAnswer {
  const { id, generation, born, opening, undecidedUntil } = request;
  const { now } = time;
  const record = records.read(id, time) ?? emptyRecord();
  if (record.committed === generation) {
    // A repeat, or a claim has adopted it.
    confirm(record, request);
    records.writeListed(id, record, time);
    return { kind: 'committed', already: true };
  }
  const present = scheduleOf(record, now);
  const lost = record.committed === NO_GENERATION; // Redis has lost the record, and what the opening was to replace
  const isForgotten = now >= undecidedUntil && !wasOpened(record, generation);
  const why =
    voided(record, generation) ??
    (isForgotten ? 'forgotten' : lost ? undefined : refusal(record, opening, now));
  if (why) {
    const counted = why === 'changed' && mayHaveCounted(record, generation, now);
    giveUp(record, request);
    records.writeListed(id, record, time);
    if (why === 'forgotten') return { kind: 'forgotten' };
    return { kind: 'refused', why: counted ? 'overtaken' : why, present };
  }
  const replaced = isLive(record) ? present : undefined;
  const runs = record.state === 'running' && record.leaseEnd > now;
  if (runs) record.holdEnd = Math.max(record.holdEnd, record.leaseEnd);
  const { abortAsked } = record;
  const left = opening.by === 'revive' ? records.dropLetter(id, record.born) : undefined;
  take(record, born, request);
  record.abortAsked = abortAsked && record.holdEnd > now;
  records.writeListed(id, record, time);
  return { kind: 'committed', replaced, ...(left && { left: left.places }) };
}

export function abort(records: Records, request: AbortRequest, time: Moment): AbortAnswer {
  const { id, generation } = request;
  const record = records.read(id, time) ?? emptyRecord();
  const { mask, unknown } = request.owed;
  if (record.committed === generation || mayHaveCounted(record, generation, time.now)) return 'started';
  const full = record.aborted.length >= MAX_ABORTED;
  if (full && (mask !== 0 || unknown) && !voided(record, generation)) {
    narrow(record, request);
    records.write(id, record, time);
    return 'full';
  }
  giveUp(record, request);
  records.write(id, record, time);
  return 'aborted';
}

export function revoke(records: Records, request: RevokeRequest, time: Moment): RevokeAnswer {
  const { id, born, due, owed, places = [] } = request;
  const { now } = time;
  const { doneTtl } = records.settings;
  const known = records.read(id, time);
  const record = known ?? (born === undefined ? emptyRecord() : newRecord(born, born, due));
  const begun = record.fence > 0;
  if (born !== undefined && record.born !== born) return { result: 'unknown', begun };
  const { state, committed, opened, floor } = record;
  const byKey = born === undefined;
  const isPending = byKey && opened > committed && !voided(record, opened);
  // A revoke by key covers every add opened before now ◆; one by reference covers only its own add, none of whose opened
  // generations takes effect once the job is revoked. The floor doesn't stop an ongoing run.
  record.floor = byKey ? Math.max(committed, opened, floor, now) : Math.max(floor, committed);
  const end = record.expired ? 'expired' : state;
  if (end === 'done' || end === 'dead' || end === 'expired') {
    records.writeListed(id, record, time);
    return { result: isPending ? 'revoked' : end, begun };
  }
  // An end is remembered for at least `doneTtl`, so a job without a record was never claimed, unless it was due before that: then
  // it may be done and forgotten, or waiting in a backlog. In any case it never starts from now on.
  if (isPending) record.unknownEnd = false;
  else if (committed === NO_GENERATION && state === 'waiting') record.unknownEnd = true;
  else if (!known) record.unknownEnd = due + doneTtl <= now;
  const running = state === 'running' && record.leaseEnd > now;
  const held = record.holdEnd > now;
  const wasAsked = record.abortAsked;
  // They stay, so that a repeated revoke can delete what the first couldn't.
  if (!running && record.places.length === 0 && committed === born) record.places = places;
  const revoked = running ? undefined : scheduleOf(record, now);
  if (running) record.noFurtherStart = true;
  else endRun(record, 'revoked');
  record.abortAsked = (running || held) && (wasAsked || request.abort);
  if (committed === born) owe(record, due, owed);
  records.writeListed(id, record, time);
  if (running || held) return { result: 'running', begun, revoked };
  return { result: record.unknownEnd ? 'unknown' : 'revoked', begun, revoked };
}

export function find(records: Records, id: string, time: Moment): Schedule | undefined {
  const record = records.read(id, time);
  const schedule = record && scheduleOf(record, time.now);
  return schedule && { ...schedule, ...progressOf(record, time.now) };
}

export function trace(records: Records, id: string, time: Moment): Trace | undefined {
  const record = records.read(id, time);
  const schedule = record && scheduleOf(record, time.now);
  if (!schedule) return undefined;
  const { state, fence, leaseEnd, holdEnd, failures } = record;
  const left = state === 'running' && leaseEnd <= time.now;
  return {
    ...schedule,
    fence,
    leaseEnd,
    left,
    holdEnd,
    ...(failures && { failures }),
    ...progressOf(record, time.now),
  };
}

/** Why a generation may not take effect, given the current record. */
function refusal(record: JobRecord, opening: Opening, now: number): Refusal | undefined {
  switch (opening.by) {
    case 'add':
      if (opening.after !== undefined && record.committed !== NO_GENERATION && record.born > opening.after)
        return 'taken';
      return opening.onDuplicate !== 'replace' && isLive(record) ? 'taken' : undefined;
    case 'again':
      if (record.fence !== opening.run.fence || record.state !== 'running') return 'lost';
      if (record.committed !== opening.run.generation) return 'changed';
      return record.noFurtherStart ? 'revoked' : undefined;
    case 'move':
    case 'revive': {
      const present = scheduleOf(record, now);
      if (!present) return 'unknown';
      if (present.generation !== opening.expected) return 'changed';
      if (present.state === (opening.by === 'move' ? 'waiting' : 'dead')) return undefined;
      return present.state === 'waiting' ? 'changed' : present.state;
    }
  }
}
