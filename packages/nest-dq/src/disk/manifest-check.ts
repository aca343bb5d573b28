import { Bytes } from './bytes.js';
import { BLOCK, FIRST, FULL, HEADER, intactRecord, LAST } from './log-check.js';

// Tags of the parts of a manifest record, as written by LevelDB's db/version_edit.cc.
const COMPARATOR = 1;
const LOG_NUMBER = 2;
const NEXT_FILE = 3;
const LAST_SEQUENCE = 4;
const COMPACT_POINTER = 5;
const DELETED_FILE = 6;
const NEW_FILE = 7;
const PREVIOUS_LOG = 9;

/** The readable part of the manifest, which is the part LevelDB uses. */
export interface Manifest {
  /** Whether the end can't be read, as after a crash or some damage. */
  readonly isTorn: boolean;
  /** The number of the log; undefined if there is none yet. */
  readonly log: number | undefined;
  /** The numbers of the tables in use. A crash may leave others, which LevelDB deletes. */
  readonly tables: ReadonlySet<number>;
}

/** Throws a RangeError if a record is intact but not LevelDB's. */
export function readManifest(bytes: Buffer): Manifest {
  const tables = new Set<number>();
  let log: number | undefined;
  let isTorn = false;
  const records = recordsOf(bytes);
  for (let each = records.next(); ; each = records.next()) {
    if (each.done === true) {
      isTorn = each.value;
      break;
    }
    log = readEdit(new Bytes(each.value), tables) ?? log;
  }
  return { isTorn, log, tables };
}

/** Returns whether something follows the last readable record. */
function* recordsOf(manifest: Buffer): Generator<Buffer, boolean> {
  let parts: Buffer[] = [];
  for (let block = 0; block < manifest.length; block += BLOCK) {
    const end = Math.min(block + BLOCK, manifest.length);
    let at = block;
    while (at + HEADER <= end) {
      const record = intactRecord(manifest, at, end);
      if (!record) return true;
      const { type, next } = record;
      if (type === FULL || type === FIRST) parts = [];
      parts.push(manifest.subarray(at + HEADER, next));
      if (type === FULL || type === LAST) yield Buffer.concat(parts);
      at = next;
    }
    if (at < end && end === manifest.length) return true;
  }
  return false;
}

/** Applies a record to the tables. Returns the number of the log it names. */
function readEdit(edit: Bytes, tables: Set<number>): number | undefined {
  let log: number | undefined;
  while (edit.left > 0) {
    const tag = edit.varint();
    if (tag === COMPARATOR) edit.text();
    else if (tag === LOG_NUMBER) log = edit.varint();
    else if (tag === NEXT_FILE || tag === LAST_SEQUENCE || tag === PREVIOUS_LOG) edit.varint();
    else if (tag === COMPACT_POINTER) {
      edit.varint(); // the level
      edit.text();
    } else if (tag === DELETED_FILE) {
      edit.varint();
      tables.delete(edit.varint());
    } else if (tag === NEW_FILE) {
      edit.varint();
      tables.add(edit.varint());
      edit.varint(); // its size, then the first and the last key
      edit.text();
      edit.text();
    } else throw new RangeError(`a manifest record has the unknown tag ${tag}`);
  }
  return log;
}
