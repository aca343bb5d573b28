import type { Place } from '../location.js';
import {
  YOUNG,
  type LedgerSettings,
  type OwedCopies,
  type Refusal,
  type Schedule,
  type StoredGeneration,
} from './ledger.js';

/** The record of a job as the memory ledger keeps it; scripts/prelude.lua.ts says what the fields mean. */
export interface JobRecord {
  state: 'waiting' | 'running' | 'done' | 'revoked' | 'dead';
  born: number;
  committed: number;
  opened: number;
  floor: number;
  aborted: number[];
  due: number;
  attempt: number;
  fence: number;
  leaseEnd: number;
  token: string | undefined;
  holdEnd: number;
  noFurtherStart: boolean;
  abortAsked: boolean;
  unknownEnd: boolean;
  owed: OwedGeneration[];
  places: readonly Place[];
  /** Infinity: never. */
  expiresAt: number;
}

interface OwedGeneration {
  readonly generation: number;
  due: number;
  mask: number;
  unknown: boolean;
}

export const NO_GENERATION = -1;

/** A record of a generation that was never claimed nor revoked. */
export function newRecord(generation: number, born: number, due: number): JobRecord {
  return {
    state: 'waiting',
    born,
    committed: generation,
    opened: NO_GENERATION,
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
    owed: [],
    places: [],
    expiresAt: Infinity,
  };
}

/** The record of a job of which nothing is committed yet. */
export function emptyRecord(): JobRecord {
  return newRecord(NO_GENERATION, NO_GENERATION, 0);
}

/** Ends whatever run there was. The fence stays, for it only grows. */
export function endRun(record: JobRecord, state: JobRecord['state']): void {
  record.state = state;
  record.leaseEnd = 0;
  record.token = undefined;
  record.noFurtherStart = false;
  record.abortAsked = false;
}

/** Makes a generation the job: it waits, and its attempts begin anew. */
export function swap(
  record: JobRecord,
  born: number,
  { generation, due, places }: Omit<StoredGeneration, 'owed'>,
): void {
  endRun(record, 'waiting');
  record.born = born;
  record.committed = generation;
  record.due = Math.ceil(due);
  record.attempt = 0;
  record.unknownEnd = false;
  record.places = places;
  record.aborted = record.aborted.filter((each) => each > generation);
}

/** The committed generation as others see it at `now`; undefined if there is none. */
export function scheduleOf(record: JobRecord, now: number): Schedule | undefined {
  const { born, committed, due, attempt, places } = record;
  if (committed === NO_GENERATION) return undefined;
  let { state } = record;
  if (state === 'running' && record.leaseEnd <= now) state = record.noFurtherStart ? 'revoked' : 'waiting';
  return { state, born, generation: committed, due, attempt, places };
}

/** Whether the job waits or runs, so that its key is taken. */
export function isLive(record: JobRecord): boolean {
  if (record.committed === NO_GENERATION) return false;
  return record.state === 'waiting' || (record.state === 'running' && !record.noFurtherStart);
}

/** Why a generation can no longer be committed, whatever the record is. */
export function voided({ committed, floor, aborted }: JobRecord, generation: number): Refusal | undefined {
  if (generation <= floor) return 'revoked';
  return generation < committed || aborted.includes(generation) ? 'changed' : undefined;
}

/** Whether a claim may have committed a generation, and run it, before a newer one was committed. */
export function mayHaveCounted({ committed, aborted }: JobRecord, generation: number, now: number): boolean {
  return generation < committed && !aborted.includes(generation) && now - generation >= YOUNG;
}

/** A generation is committed already, by an earlier call or by a claim: where its copies are is new all the same. */
export function confirm(record: JobRecord, stored: StoredGeneration): void {
  if (isLive(record)) record.places = stored.places;
  narrow(record, stored);
}

/** An opened generation does not come about, and no claim may adopt it from now on: its copies can be deleted. */
export function giveUp(record: JobRecord, stored: Omit<StoredGeneration, 'places'>): void {
  if (!voided(record, stored.generation)) record.aborted.push(stored.generation);
  narrow(record, stored);
}

/** Adds copies that may exist. What is settled already stays settled, although a header goes on naming every copy. */
export function owe(record: JobRecord, generation: number, due: number, owed: OwedCopies): void {
  let entry = record.owed.find((each) => each.generation === generation);
  if (!entry) {
    if (owed.mask === 0 && !owed.unknown) return;
    entry = { generation, due, mask: 0, unknown: false };
    record.owed.push(entry);
  }
  if (entry.mask === 0) entry.mask = owed.mask;
  entry.due = Math.max(entry.due, due);
  entry.unknown ||= owed.unknown;
}

/** Which of the copies that were about to be stored really may exist. */
export function narrow(record: JobRecord, { generation, due, owed }: Omit<StoredGeneration, 'places'>): void {
  const entry = record.owed.find((each) => each.generation === generation);
  if (!entry) return owe(record, generation, due, owed);
  entry.mask &= owed.mask;
  entry.due = Math.max(entry.due, due);
  entry.unknown ||= owed.unknown;
  dropSettled(record);
}

/**
 * Takes copies away that are gone for good; false if that changes nothing.
 * That a copy of unknown fate may exist is learned and never forgotten.
 */
export function settle(record: JobRecord, generation: number, mask: number, unknown: boolean): boolean {
  const entry = record.owed.find((each) => each.generation === generation);
  if (entry) {
    entry.mask &= ~mask;
    entry.unknown ||= unknown;
  } else if (unknown) {
    record.owed.push({ generation, due: record.due, mask: 0, unknown });
  } else {
    return false;
  }
  dropSettled(record);
  return true;
}

function dropSettled(record: JobRecord): void {
  record.owed = record.owed.filter((each) => each.mask !== 0 || each.unknown);
}

/** When a record written now may be forgotten: soon only where no copy can be left that would ask for it. */
export function expiry(record: JobRecord, now: number, settings: LedgerSettings): number {
  if (record.state === 'dead') return Infinity;
  const ended = record.state === 'done' || record.state === 'revoked' || record.committed === NO_GENERATION;
  if (ended && record.owed.length === 0 && record.holdEnd <= now) return now + settings.doneTtl;
  const last = Math.max(
    now,
    record.due,
    record.leaseEnd,
    record.holdEnd,
    ...record.owed.map((each) => each.due),
  );
  return last + settings.staleAfter + 60_000;
}
