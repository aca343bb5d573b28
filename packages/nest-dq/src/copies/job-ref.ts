import { hash, timingSafeEqual } from 'node:crypto';
import { asciiJson, type Place, placesJson, readPlaces } from './location.js';
import { isTubeName } from '../beanstalk/codec/commands.js';
import { isJobId } from './header.js';
import { DqError, show, wrongValue } from '../errors.js';
import { checkKey, isKey } from '../api/job-options.js';
import type { JobRef, JobRefText } from '../api/job.js';
import type { TubeCodecs } from '../api/payload-codec.js';
import { codecsOf, storedTube, type StoredTube } from '../api/tube.js';
import type { Seal } from '../seal/seal.js';

/** Content of a receipt's `ref`, which finds the job again. */
export interface RefContent {
  /** With the prefix, so that a reference from another prefix still goes to the right tube. */
  readonly tube: StoredTube;
  readonly id: string;
  readonly key?: string;
  /** Generation of the add; 0 for plain jobs. */
  readonly born: number;
  /** Ledger time in ms. */
  readonly due: number;
  /** Number of copies planned. */
  readonly copies: number;
  /** Where the copies are, as far as is known; a put without an answer has a location with the id `?`. */
  readonly places: readonly Place[];
}

/**
 * A parsed reference. One by key or by id means the job currently scheduled under it, so `born` and places are unknown. `byId`:
 * they have to be looked up.
 */
export type JobTarget = Omit<RefContent, 'born'> & {
  readonly born: number | undefined;
  readonly byId?: true;
};

const MARK = 'dq1.';
const TAGGED_MARK = 'dqs.';
/** A reference with a tag: the text, the tag, and the name of its key. */
const TAGGED = /^dqs\.([\w-]+)\.([\w-]{22})\.([\w.-]{1,40})$/;
/** In characters. Ours are always shorter: places take at most 40,000, the key 4,000. */
export const LONGEST_REF = 2 ** 16;
/** Latest possible Date, in epoch ms. */
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

/** Reused to encode each reference. */
let scratch = Buffer.allocUnsafeSlow(4_096);

/**
 * Formats a reference as one line that fits a column, a URL and a header. If the tube is sealed, it gets a tag, so that nobody
 * without the key can change it.
 */
export function formatRef({ tube, id, born, due, copies, places, key }: RefContent, seal?: Seal): JobRefText {
  // Formatted by hand, because every receipt has one: a quarter of the time. All of it is ASCII.
  let wire = `["${tube}","${id}",${born},${due},${copies},[${placesJson(places)}`;
  wire += key === undefined ? ']]' : `],${asciiJson(key)}]`;
  if (wire.length > scratch.length) scratch = Buffer.allocUnsafeSlow(2 * wire.length);
  const text = scratch.toString('base64url', 0, scratch.write(wire, 'latin1'));
  const keyName = seal?.keyNameFor(tube);
  const ref =
    keyName === undefined ? MARK + text : `${TAGGED_MARK}${text}.${seal!.tagOf(keyName, text)}.${keyName}`;
  return ref as JobRefText;
}

/** Returns the id of a keyed job. It doesn't reveal the key, which may be long or private. */
export function keyedId(tube: StoredTube, key: string): string {
  const text = JSON.stringify([tube, key]); // escapes what UTF-8 can't distinguish
  return hash('sha256', text, 'base64url').slice(0, 24);
}

/**
 * Parses a receipt (also after JSON), its `ref`, or a tube with a key or an id, where `prefix` is added to the tube. `DQ_BAD_REF`
 * for anything else, and for a tag that doesn't match the seal; `DQ_BAD_TUBE` for an invalid tube given with a key or an id.
 * Without a seal, tags are not checked.
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
  const slip = typeof text === 'string' && isRefText(text) ? ', which is cut off or altered' : '';
  throw new DqError(
    'DQ_BAD_REF',
    `the reference is ${show(ref)}${slip}: expected a receipt, its \`ref\` (the \`id\` alone finds nothing), { tube, key } or { tube, id }`,
  );
}

/** Returns the codecs of the tube in a reference; undefined if it names none, or has none. */
export function codecsOfRef(ref: JobRef): TubeCodecs | undefined {
  return typeof ref === 'object' && 'tube' in ref ? codecsOf(ref.tube) : undefined;
}

/** Returns whether `text` looks like a reference. */
export function isRefText(text: string): boolean {
  return text.startsWith(MARK) || text.startsWith(TAGGED_MARK);
}

interface RefText {
  readonly content: RefContent;
  /** The text that the tag covers. */
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

/** Throws `DQ_BAD_REF` if the tag is missing or wrong. */
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
    why = 'was altered or is from another `seal.context`: its tag does not match';
  if (why)
    throw new DqError(
      'DQ_BAD_REF',
      `the reference of job ${content.id} of ${show(content.tube)} ${why}: expected the unaltered \`ref\` of a receipt`,
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
    return undefined; // the caller reports what was expected
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
