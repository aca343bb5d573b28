import type { Disk } from '../../disk/disk.js';
import { type DiskBatch, VALUE } from '../../disk/entries.js';
import type { KeptFinished } from '../finished/finished-jobs.js';
import { emptyRecord, type JobRecord } from '../records/job-record.js';
import type { Letter, PauseSpan } from '../requests.js';
import type { Records } from '../records/records.js';
import { DqError, toError } from '../../errors.js';

/**
 * `record <tube> <id>`, `letter <tube> <id>:<born>` and `finished <tube> <id>` hold the content of the memory ledger as JSON. A
 * record without `expiresAt` never expires; a missing field has the value of an empty record's. `pauses <tube>` holds a list, and
 * `turn <tube>` a number.
 */
const RECORD = 'record ';
const LETTER = 'letter ';
const FINISHED = 'finished ';
const PAUSES = 'pauses ';
const TURN = 'turn ';

/** Adds a tube's changes to a batch. */
export function collectRecords(batch: DiskBatch, tube: string, records: Records): void {
  const { byId, letters, finished, pauses, limitUse, unsaved } = records;
  collectFrom(batch, `${RECORD}${tube} `, unsaved.records, byId);
  collectFrom(batch, `${LETTER}${tube} `, unsaved.letters, letters);
  collectFrom(batch, `${FINISHED}${tube} `, unsaved.finished, finished.byId);
  if (unsaved.pauses) collectText(batch, PAUSES + tube, pauses.length > 0 && JSON.stringify(pauses));
  if (unsaved.turn) collectText(batch, TURN + tube, limitUse.turn > 0 && String(limitUse.turn));
  unsaved.pauses = unsaved.turn = false;
}

/** Loads the records, letters, finished jobs, pauses and turns of all tubes. Rejects with `DQ_DISK`. */
export async function loadRecords(disk: Disk, recordsOf: (tube: string) => Records): Promise<void> {
  await disk.read(RECORD, (rest, value) => {
    const [tube, id] = split(rest);
    recordsOf(tube).byId.set(id, readRecord(value));
  });
  await disk.read(LETTER, (rest, value) => {
    const [tube, name] = split(rest);
    recordsOf(tube).letters.set(name, JSON.parse(value.toString('utf8', VALUE)) as Letter);
  });
  const finished = new Map<string, KeptFinished[]>();
  await disk.read(FINISHED, (rest, value) => {
    const [tube] = split(rest);
    const jobs = finished.get(tube) ?? [];
    jobs.push(JSON.parse(value.toString('utf8', VALUE)) as KeptFinished);
    finished.set(tube, jobs);
  });
  for (const [tube, jobs] of finished) recordsOf(tube).finished.load(jobs);
  await disk.read(PAUSES, (tube, value) => {
    recordsOf(tube).pauses = JSON.parse(value.toString('utf8', VALUE)) as PauseSpan[];
  });
  await disk.read(TURN, (tube, value) => {
    recordsOf(tube).limitUse.turn = Number(value.toString('utf8', VALUE));
  });
}

function collectText(batch: DiskBatch, name: string, text: string | false): void {
  if (text === false) batch.delete(name);
  else batch.putText(name, text);
}

function collectFrom(
  batch: DiskBatch,
  prefix: string,
  changed: Set<string>,
  present: ReadonlyMap<string, object>,
): void {
  for (const name of changed) {
    const item = present.get(name);
    if (item) batch.putText(prefix + name, JSON.stringify(item));
    else batch.delete(prefix + name);
  }
  changed.clear();
}

/** A tube's name contains no space. */
function split(rest: string): [tube: string, name: string] {
  const space = rest.indexOf(' ');
  return [rest.slice(0, space), rest.slice(space + 1)];
}

/** Drops leases: their holder's process is gone, since only one at a time has the folder open. */
function readRecord(value: Buffer): JobRecord {
  const { expiresAt, ...rest } = JSON.parse(value.toString('utf8', VALUE)) as Partial<JobRecord>;
  return { ...emptyRecord(), ...rest, leaseEnd: 0, holdEnd: 0, expiresAt: expiresAt ?? Infinity };
}

/** Resolves when all changes are on disk. Rejects with `DQ_LEDGER_DOWN`. */
export async function stored(disk: Disk): Promise<void> {
  try {
    await disk.saved();
  } catch (failure) {
    const { message } = toError(failure);
    throw new DqError('DQ_LEDGER_DOWN', message, { cause: failure, indeterminate: true });
  }
}
