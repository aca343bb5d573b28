import type { Death, LedgerSettings } from './ledger.js';

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
  unknownEnd: boolean;
  owed: OwedGeneration[];
  death: (Death & { readonly died: number }) | undefined;
  /** Infinity: never. */
  expiresAt: number;
}

interface OwedGeneration {
  readonly generation: number;
  due: number;
  mask: number;
  unknown: boolean;
}

const NO_GENERATION = -1;

/** A record of a generation that was never claimed nor revoked. */
export function newRecord(generation: number, due: number): JobRecord {
  return {
    state: 'waiting',
    born: generation,
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
    unknownEnd: false,
    owed: [],
    death: undefined,
    expiresAt: Infinity,
  };
}

/** Ends whatever run there was. The fence stays, for it only grows. */
export function endRun(record: JobRecord, state: JobRecord['state']): void {
  record.state = state;
  record.leaseEnd = 0;
  record.token = undefined;
  record.noFurtherStart = false;
}

/** Adds copies that may exist. What is settled already stays settled, although a header goes on naming every copy. */
export function owe(
  record: JobRecord,
  generation: number,
  due: number,
  owed: { readonly mask: number; readonly unknown: boolean },
): void {
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
  record.owed = record.owed.filter((each) => each.mask !== 0 || each.unknown);
  return true;
}

/** When a record written now may be forgotten: soon only where no copy can be left that would ask for it. */
export function expiry(record: JobRecord, now: number, settings: LedgerSettings): number {
  if (record.state === 'dead') return Infinity;
  const ended = record.state === 'done' || record.state === 'revoked';
  if (ended && record.owed.length === 0) return now + settings.doneTtl;
  const last = Math.max(
    now,
    record.due,
    record.leaseEnd,
    record.holdEnd,
    ...record.owed.map((each) => each.due),
  );
  return last + settings.staleAfter + 60_000;
}
