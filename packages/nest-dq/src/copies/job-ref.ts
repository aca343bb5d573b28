import { hash, timingSafeEqual } from 'node:crypto';
import { asciiJson, type Place, placesJson, readPlaces } from './location.js';
import { isTubeName } from '../beanstalk/codec/commands.js';
import { isJobId } from './header.js';
import { DqError, show, wrongValue } from '../errors.js';
import { checkKey, isKey } from '../api/job-options.js';
import type { JobRef, JobRefText } from '../api/job.js';
import { storedTube, type StoredTube } from '../api/tube.js';
import type { Seal } from '../seal/seal.js';

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
const TAGGED_MARK = 'dqs.';
/** A reference with a tag: the text, the tag, and the name of its key. */
const TAGGED = /^dqs\.([\w-]+)\.([\w-]{22})\.([\w.-]{1,40})$/;
/** Characters. No reference of ours has as many: its places take 40,000 at most, its key 4,000. */
export const LONGEST_REF = 2 ** 16;
/** Milliseconds since 1970. No Date is later. */
const LATEST = 8.64e15;

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

/** One line of text that fits a column, a URL and a header. With a seal that is used for the tube it has a tag, so that nobody without the key can change it. */
export function formatRef({ tube, id, born, due, copies, places, key }: RefContent, seal?: Seal): JobRefText {
  // By hand, because each receipt has one: it takes a quarter of the time. All of it is ASCII.
  let wire = `["${tube}","${id}",${born},${due},${copies},[${placesJson(places)}`;
  wire += key === undefined ? ']]' : `],${asciiJson(key)}]`;
  if (wire.length > scratch.length) scratch = Buffer.allocUnsafeSlow(2 * wire.length);
  const text = scratch.toString('base64url', 0, scratch.write(wire, 'latin1'));
  const keyName = seal?.keyNameFor(tube);
  const ref =
    keyName === undefined ? MARK + text : `${TAGGED_MARK}${text}.${seal!.tagOf(keyName, text)}.${keyName}`;
  return ref as JobRefText;
}

/** The id of a keyed job. It does not contain the key, which may be long or private. */
export function keyedId(tube: StoredTube, key: string): string {
  const text = JSON.stringify([tube, key]); // escapes what UTF-8 cannot tell apart
  return hash('sha256', text, 'base64url').slice(0, 24);
}

/**
 * Takes a receipt, a receipt after JSON, its `ref`, or a tube and a key or an id, where `prefix` stands before the tube.
 * `DQ_BAD_REF` for anything else, and for a text whose tag is not as the seal has it; `DQ_BAD_TUBE` for a wrong tube beside a key or an id.
 * Without a seal, tags are not looked at.
 */
export function parseRef(ref: JobRef, prefix: string, seal?: Seal): JobTarget {
  const fields: { ref?: unknown; tube?: unknown; key?: unknown; id?: unknown } | undefined =
    typeof ref === 'object' && ref !== null ? ref : undefined;
  const text = fields ? fields.ref : ref;
  const read = typeof text === 'string' && text.length <= LONGEST_REF ? readText(text) : undefined;
  if (read) {
    refuseUntrue(read, seal);
    return read.content;
  }
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
  const slip = typeof text === 'string' && isRefText(text) ? ', cut short or altered' : '';
  throw new DqError(
    'DQ_BAD_REF',
    `the reference is ${show(ref)}${slip}: expected a receipt, the text in its \`ref\` (its \`id\` alone finds nothing), { tube, key } or { tube, id }`,
  );
}

/** Whether it looks like the text of a reference. */
export function isRefText(text: string): boolean {
  return text.startsWith(MARK) || text.startsWith(TAGGED_MARK);
}

interface RefText {
  readonly content: RefContent;
  /** What the tag is of. */
  readonly text: string;
  readonly tag?: string | undefined;
  readonly keyName?: string | undefined;
}

function readText(ref: string): RefText | undefined {
  const [, tagged, tag, keyName] = TAGGED.exec(ref) ?? [];
  const text = tagged ?? (ref.startsWith(MARK) ? ref.slice(MARK.length) : undefined);
  const content = text === undefined ? undefined : parse(text);
  return content && { content, text: text!, tag, keyName };
}

/** `DQ_BAD_REF` */
function refuseUntrue({ content, text, tag, keyName }: RefText, seal: Seal | undefined): void {
  if (!seal) return;
  let why: string | undefined;
  if (keyName === undefined) why = seal.takesUnsealed(content.tube) ? undefined : 'has no tag of `seal`';
  else if (!seal.knows(keyName))
    throw new DqError(
      'DQ_BAD_REF',
      `the reference of job ${content.id} of ${show(content.tube)} is sealed with the key ${show(keyName)}, which this process does not have: expected that key in \`seal.keys\``,
    );
  else if (!isSame(seal.tagOf(keyName, text), tag!))
    why = 'was altered, or is of another `seal.context`: its tag is of another text';
  if (why)
    throw new DqError(
      'DQ_BAD_REF',
      `the reference of job ${content.id} of ${show(content.tube)} ${why}: expected the text of a receipt, as it was`,
    );
}

function isSame(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a), Buffer.from(b));
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
    isTubeName(wire[0]) &&
    isJobId(wire[1]) &&
    [wire[2], wire[3], wire[4]].every((number) => Number.isInteger(number) && number >= 0) &&
    Math.max(wire[2], wire[3]) <= LATEST &&
    wire[4] <= 31 &&
    (wire[6] === undefined || isKey(wire[6]));
  if (!right) return undefined;
  const [tube, id, born, due, copies, , key] = wire;
  return { tube, id, key, born, due, copies, places };
}
