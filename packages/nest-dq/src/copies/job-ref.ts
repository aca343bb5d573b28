import { createHash } from 'node:crypto';
import { asciiJson } from '../structures/ascii-json.js';
import { isJobId } from './header.js';
import { DqError, show, wrongValue } from '../errors.js';
import { checkKey } from '../api/job-options.js';
import type { JobRef, JobRefText } from '../api/job.js';
import { placesJson, readPlaces, type Place } from './location.js';
import { storedTube, type StoredTube } from '../api/tube.js';

/** The content of a receipt's `ref`, which finds the job again. */
export interface RefContent {
  /** With the prefix, so that a reference of another prefix is decided where it belongs. */
  readonly tube: StoredTube;
  readonly id: string;
  readonly key?: string;
  /** The generation of the add; 0 for plain jobs. */
  readonly born: number;
  /** Ledger time, ms. */
  readonly due: number;
  /** How many copies were meant to be stored. */
  readonly copies: number;
  /** Where they are, as far as is known; a put without an answer has a location with the id `?`. */
  readonly places: readonly Place[];
}

/**
 * A reference, read. One by key or by id means the job that is scheduled under it now, so it knows neither `born` nor places.
 * `byId`: they have to be looked up.
 */
export type JobTarget = Omit<RefContent, 'born'> & {
  readonly born: number | undefined;
  readonly byId?: true;
};

const MARK = 'dq1.';

type Wire = [
  tube: StoredTube,
  id: string,
  born: number,
  due: number,
  copies: number,
  places: [number, string][],
  key?: string,
];

/** Each text becomes bytes here. */
let scratch = Buffer.allocUnsafeSlow(4_096);

/** One line of text that fits a column, a URL and a header. */
export function formatRef({ tube, id, born, due, copies, places, key }: RefContent): JobRefText {
  // By hand, because each receipt has one: it takes a quarter of the time. All of it is ASCII.
  let wire = `["${tube}","${id}",${born},${due},${copies},[${placesJson(places)}`;
  wire += key === undefined ? ']]' : `],${asciiJson(key)}]`;
  if (wire.length > scratch.length) scratch = Buffer.allocUnsafeSlow(2 * wire.length);
  return (MARK + scratch.toString('base64url', 0, scratch.write(wire, 'latin1'))) as JobRefText;
}

/** The id of a keyed job. It does not contain the key, which may be long or private. */
export function keyedId(tube: StoredTube, key: string): string {
  const text = JSON.stringify([tube, key]); // escapes what UTF-8 cannot tell apart
  return createHash('sha256').update(text).digest('base64url').slice(0, 24);
}

/**
 * Takes a receipt, a receipt after JSON, its `ref`, or a tube and a key or an id, where `prefix` stands before the tube.
 * `DQ_BAD_REF` for anything else, `DQ_BAD_TUBE` for a wrong tube beside a key or an id.
 */
export function parseRef(ref: JobRef, prefix: string): JobTarget {
  const fields: { ref?: unknown; tube?: unknown; key?: unknown; id?: unknown } | undefined =
    typeof ref === 'object' && ref !== null ? ref : undefined;
  const text = fields ? fields.ref : ref;
  const content =
    typeof text === 'string' && text.startsWith(MARK) ? parse(text.slice(MARK.length)) : undefined;
  if (content) return content;
  if (fields && fields.ref === undefined && 'key' in fields) {
    const key = checkKey(fields.key, `the key of the reference`, 'DQ_BAD_REF');
    const tube = storedTube(fields.tube as string, prefix);
    return { tube, id: keyedId(tube, key), key, born: undefined, due: 0, copies: 0, places: [] };
  }
  if (fields && fields.ref === undefined && 'id' in fields && 'tube' in fields) {
    const { id } = fields;
    if (!isJobId(id)) throw wrongValue('DQ_BAD_REF', 'the id of the reference', id, 'the `id` of a job');
    const tube = storedTube(fields.tube as string, prefix);
    return { tube, id, byId: true, born: undefined, due: 0, copies: 0, places: [] };
  }
  const slip = typeof text === 'string' && text.startsWith(MARK) ? ', cut short or altered' : '';
  throw new DqError(
    'DQ_BAD_REF',
    `the reference is ${show(ref)}${slip}: expected a receipt, the text in its \`ref\` (its \`id\` alone finds nothing), { tube, key } or { tube, id }`,
  );
}

function parse(text: string): RefContent | undefined {
  let wire: Wire;
  try {
    wire = JSON.parse(Buffer.from(text, 'base64url').toString()) as Wire;
  } catch {
    return undefined; // the caller says what was expected
  }
  const places = Array.isArray(wire) && readPlaces(wire[5]);
  const right =
    places &&
    typeof wire[0] === 'string' &&
    isJobId(wire[1]) &&
    [wire[2], wire[3], wire[4]].every((number) => Number.isSafeInteger(number) && number >= 0) &&
    wire[4] <= 31 &&
    (wire[6] === undefined || typeof wire[6] === 'string');
  if (!right) return undefined;
  const [tube, id, born, due, copies, , key] = wire;
  return { tube, id, key, born, due, copies, places };
}
