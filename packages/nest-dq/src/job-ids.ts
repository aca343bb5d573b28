import { isJobId } from './envelope.js';
import { DqError, show } from './errors.js';
import type { JobRef } from './job.js';
import type { Place } from './location.js';

/** What finds a job again: the content of a receipt's `ids`. */
export interface JobIds {
  /** As nodes and ledger know it: with the prefix, so that a reference of another prefix is decided where it belongs. */
  readonly tube: string;
  readonly id: string;
  /** The generation of the add; 0 for plain jobs. */
  readonly born: number;
  /** Ledger time, ms. */
  readonly due: number;
  /** How many copies were meant to be stored. */
  readonly copies: number;
  /** Where they are, as far as is known; a put without an answer has a location with the id `?`. */
  readonly places: readonly Place[];
}

const MARK = 'dq1.';

type Wire = [tube: string, id: string, born: number, due: number, copies: number, places: [number, string][]];

/** One line of text that fits a column, a URL and a header. */
export function formatIds(ids: JobIds): string {
  const wire: Wire = [
    ids.tube,
    ids.id,
    ids.born,
    ids.due,
    ids.copies,
    ids.places.map((p) => [p.index, p.location]),
  ];
  return MARK + Buffer.from(JSON.stringify(wire)).toString('base64url');
}

/** Takes a receipt, a receipt after JSON, or its `ids`; `DQ_BAD_REF` for anything else. */
export function parseRef(ref: JobRef): JobIds {
  const text = typeof ref === 'object' && ref !== null ? ref.ids : ref;
  const ids = typeof text === 'string' && text.startsWith(MARK) ? parse(text.slice(MARK.length)) : undefined;
  if (ids) return ids;
  if (typeof ref === 'object' && ref !== null && 'key' in ref) {
    throw new DqError(
      'DQ_BAD_REF',
      `the reference is ${show(ref)}: keys are not available in this version; use the receipt`,
    );
  }
  throw new DqError(
    'DQ_BAD_REF',
    `the reference is ${show(ref)}: expected a receipt, or the text in its \`ids\``,
  );
}

function parse(text: string): JobIds | undefined {
  let wire: Wire;
  try {
    wire = JSON.parse(Buffer.from(text, 'base64url').toString()) as Wire;
  } catch {
    return undefined; // the caller says what was expected
  }
  const right =
    Array.isArray(wire) &&
    typeof wire[0] === 'string' &&
    isJobId(wire[1]) &&
    [wire[2], wire[3], wire[4]].every((number) => Number.isSafeInteger(number) && number >= 0) &&
    wire[4] <= 31 &&
    Array.isArray(wire[5]) &&
    wire[5].every(
      (place) =>
        Array.isArray(place) &&
        Number.isInteger(place[0]) &&
        place[0] >= 0 &&
        place[0] <= 30 &&
        typeof place[1] === 'string',
    );
  if (!right) return undefined;
  const [tube, id, born, due, copies, places] = wire;
  return { tube, id, born, due, copies, places: places.map(([index, location]) => ({ index, location })) };
}
