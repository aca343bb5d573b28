import type { Place } from '../../copies/location.js';
import { keptAfter, MAX_FAILURES, YOUNG_MS, type LedgerSettings } from '../ledger.js';
import type {
  AnnouncedGeneration,
  FailedRun,
  Refusal,
  RunProgress,
  Schedule,
  StoredGeneration,
} from '../requests.js';
import { addAborted, dropAborted, isAborted } from '../schedules/aborted.rule.js';
import { countOwed, lose, narrow, owe, type OwedRecord } from './owed-copies.rule.js';

/** The record of a job as the rules see it; records/record.lua.ts explains the fields. */
export interface JobRecord extends OwedRecord {
  state: 'waiting' | 'running' | 'done' | 'revoked' | 'dead';
  born: number;
  committed: number;
  opened: number;
  firstOpened: number;
  floor: number;
  due: number;
  attempt: number;
  fence: number;
  leaseEnd: number;
  token: string | undefined;
  holdEnd: number;
  noFurtherStart: boolean;
  abortAsked: boolean;
  unknownEnd: boolean;
  expired: true | undefined;
  startBy: number | undefined;
  counted: boolean;
  places: readonly Place[];
  failures: readonly FailedRun[] | undefined;
  progress: RunProgress | undefined;
  /** Infinity if it never expires. */
  expiresAt: number;
}

export const NO_GENERATION = -1;

/** Creates the record of a generation that was never claimed or revoked. */
export function newRecord(generation: number, born: number, due: number): JobRecord {
  return {
    state: 'waiting',
    born,
    committed: generation,
    opened: NO_GENERATION,
    firstOpened: NO_GENERATION,
    floor: NO_GENERATION,
    aborted: [],
    due,
    attempt: 0,
    fence: 0,
    leaseEnd: 0,
    token: undefined,
    holdEnd: 0,
    noFurtherStart: false,
    abortAsked: false,
    unknownEnd: false,
    expired: undefined,
    startBy: undefined,
    owed: undefined,
    sum: 0,
    sumDue: 0,
    counted: false,
    lostDue: 0,
    places: [],
    failures: undefined,
    progress: undefined,
    expiresAt: Infinity,
  };
}

/** Creates the record of a job without a committed generation. */
export function emptyRecord(): JobRecord {
  return newRecord(NO_GENERATION, NO_GENERATION, 0);
}

/** Ends any run. The fence stays, since it only grows. A letter takes over what failed; any other end forgets it. */
export function endRun(record: JobRecord, state: JobRecord['state']): void {
  record.state = state;
  if (state === 'done' || state === 'revoked') record.failures = undefined;
  record.progress = undefined;
  record.leaseEnd = 0;
  record.token = undefined;
  record.noFurtherStart = false;
  record.abortAsked = false;
  record.expired = undefined;
}

/** Keeps a failed run with the record, for people to see. */
export function keepFailure(record: JobRecord, failure: FailedRun | undefined): void {
  if (failure) record.failures = [...(record.failures ?? []), failure].slice(-MAX_FAILURES);
}

/** Makes a generation the job: it waits, with its attempts reset. */
export function swap(
  record: JobRecord,
  born: number,
  { generation, due, places }: Omit<StoredGeneration, 'owed'>,
): void {
  endRun(record, 'waiting');
  dropAborted(record, 0, generation);
  countOwed(record);
  record.born = born;
  record.committed = generation;
  record.due = Math.ceil(due);
  record.attempt = 0;
  record.failures = undefined;
  record.unknownEnd = false;
  record.startBy = undefined;
  record.places = places;
  record.counted = generation <= record.opened;
}

/** Makes a stored generation the job. */
export function take(record: JobRecord, born: number, stored: AnnouncedGeneration): void {
  swap(record, born, stored);
  if (record.counted) narrow(record, stored);
  else owe(record, stored.due, stored.owed);
}

/** The committed generation as others see it at `now`; undefined if there is none. */
export function scheduleOf(record: JobRecord, now: number): Schedule | undefined {
  const { born, committed, due, attempt, places } = record;
  if (committed === NO_GENERATION) return undefined;
  let state: Schedule['state'] = record.expired ? 'expired' : record.state;
  if (state === 'running' && record.leaseEnd <= now) state = record.noFurtherStart ? 'revoked' : 'waiting';
  return { state, born, generation: committed, due, attempt, places };
}

/** The progress of the run in progress. */
export function progressOf(
  { state, leaseEnd, progress }: JobRecord,
  now: number,
): Pick<Schedule, 'progress'> {
  return progress && state === 'running' && leaseEnd > now ? { progress } : {};
}

/** Whether the job waits or runs, so that its key is taken. */
export function isLive(record: JobRecord): boolean {
  if (record.committed === NO_GENERATION) return false;
  return record.state === 'waiting' || (record.state === 'running' && !record.noFurtherStart);
}

/** Why a generation can no longer be committed, whatever the state of the record. */
export function voided(record: JobRecord, generation: number): Refusal | undefined {
  if (isAborted(record, generation)) return 'changed';
  if (generation <= record.floor) return 'revoked';
  return generation < record.committed ? 'changed' : undefined;
}

/** Whether no copy of a generation can be needed any more, and none may run. Once true, that never changes. */
export function isOver(record: JobRecord, generation: number): boolean {
  const { state, committed, floor } = record;
  if (generation < committed || isAborted(record, generation)) return true;
  if (generation > committed) return generation <= floor;
  // A run continues despite a revoke that came after it started, and a letter stays.
  return state === 'done' || state === 'revoked' || (state === 'waiting' && generation <= floor);
}

/** Whether a claim may have committed and run a generation before a newer one was committed. */
export function mayHaveCounted(record: JobRecord, generation: number, now: number): boolean {
  return generation < record.committed && !isAborted(record, generation) && now - generation >= YOUNG_MS;
}

/** Records the copies of a generation that an earlier call or a claim has already committed. */
export function confirm(record: JobRecord, { due, owed, places }: StoredGeneration): void {
  if (isLive(record)) record.places = places;
  owe(record, due, owed);
}

/**
 * Gives up an opened generation, so that no claim may adopt it any more: its copies can be deleted. If none can exist, there is
 * nothing to remember.
 */
export function giveUp(record: JobRecord, stored: Omit<AnnouncedGeneration, 'places'>): void {
  const { generation, due, owed } = stored;
  if (isAborted(record, generation)) {
    if (owed.unknown) lose(record, due);
    return;
  }
  if ((owed.mask !== 0 || owed.unknown) && !voided(record, generation)) addAborted(record, generation);
  narrow(record, stored);
}

/** When a record written now may be forgotten: soon only if no copy can be left that would ask for it. */
export function expiry(record: JobRecord, now: number, settings: LedgerSettings): number {
  if (record.state === 'dead') return Infinity;
  const { state, owed, sum, sumDue, lostDue } = record;
  const ended = state === 'done' || state === 'revoked' || record.committed === NO_GENERATION;
  const owes = owed !== undefined || sum !== 0 || (lostDue !== 0 && lostDue + keptAfter(settings) > now);
  if (ended && !owes && record.holdEnd <= now) return now + settings.doneTtl;
  const last = Math.max(now, record.due, record.leaseEnd, record.holdEnd, sumDue, lostDue, owed?.due ?? 0);
  return last + keptAfter(settings);
}
