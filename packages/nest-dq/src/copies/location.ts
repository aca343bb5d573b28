/**
 * Where a copy is: `endpoint#instance:copyId`. A copy whose put got no answer has the id `?`.
 * A later format may put several copies into one beanstalkd job, and name one of them as `…:copyId/entry`. A place that
 * cannot be read counts as away: so this version never deletes such a job, and no copy in it is taken for gone.
 */
export interface Location {
  readonly endpoint: string;
  /** The `id` that the server's `stats` gave. If it is another one now, the server may have given the copy's id again. */
  readonly instance: string;
  readonly copyId: string;
}

export const UNKNOWN_COPY = '?';
const UNKNOWN_END = `:${UNKNOWN_COPY}`;
const COPY_ID = /^(\d{1,20}|\?)$/;
/** Places that a job may have, as a put without an answer has one, too: at most one on each node, so there are no more nodes. */
export const MOST_PLACES = 100;
/** Characters: a host's name of 253, a port, an instance, and an id. */
const LONGEST_LOCATION = 300;

export function formatLocation(endpoint: string, instance: string, copyId: string): string {
  return locationStart(endpoint, instance) + copyId;
}

/** All locations of one server begin with this. The copy's id follows. */
export function locationStart(endpoint: string, instance: string): string {
  return `${endpoint}#${instance}:`;
}

/** Undefined when the text is no location. */
export function parseLocation(text: string): Location | undefined {
  const hash = text.indexOf('#');
  const colon = text.indexOf(':', hash);
  if (hash < 1 || colon < 0 || text.lastIndexOf('#') > hash) return undefined;
  const copyId = text.slice(colon + 1);
  if (!COPY_ID.test(copyId)) return undefined;
  return { endpoint: text.slice(0, hash), instance: text.slice(hash + 1, colon), copyId };
}

/** True: the copy's put got no answer, so nobody knows whether and where it is. */
export function isUnknown(location: string): boolean {
  return location.endsWith(UNKNOWN_END);
}

/** One copy of a job and where it is; `location` as `formatLocation` writes it. */
export interface Place {
  /** 0 is the primary. */
  readonly index: number;
  readonly location: string;
}

/** Bit i is set for copy i. */
export function maskOf(places: Iterable<{ readonly index: number }>): number {
  let mask = 0;
  for (const { index } of places) mask |= 1 << index;
  return mask;
}

/** True: a put got no answer, so one more copy may be somewhere. */
export function hasUnknown(places: readonly Place[]): boolean {
  return places.some(({ location }) => isUnknown(location));
}

/** As copies and references name them: `[0,"host:11300#instance:7"],[1,…`, in ASCII. */
export function placesJson(places: readonly Place[]): string {
  let json = '';
  for (const { index, location } of places) json += `${json && ','}[${index},${asciiJson(location)}]`;
  return json;
}

/** The same, read. Undefined: it is no list of places, or too long for one. */
export function readPlaces(wire: unknown): Place[] | undefined {
  if (!Array.isArray(wire) || wire.length > MOST_PLACES) return undefined;
  const places: Place[] = [];
  for (const pair of wire as unknown[]) {
    if (!Array.isArray(pair)) return undefined;
    const [index, location] = pair as unknown[];
    if (typeof location !== 'string' || !isPlace(index as number, location)) return undefined;
    places.push({ index: index as number, location });
  }
  return places;
}

function isPlace(index: number, location: string): boolean {
  return Number.isInteger(index) && index >= 0 && index <= 30 && location.length <= LONGEST_LOCATION;
}

/** As the ledger stores them: ` 0=host:11300#instance:7 1=…`, a blank before each. */
export function formatPlaces(places: readonly Place[]): string {
  return places.map(({ index, location }) => ` ${index}=${location}`).join('');
}

/** The same without the ids of the copies: on which server each copy is. */
export function layoutOf(places: readonly Place[]): string {
  let layout = '';
  for (const { index, location } of places)
    layout += ` ${index}=${location.slice(0, location.lastIndexOf(':'))}`;
  return layout;
}

/** What `layoutOf` leaves out, in the same order: `7,18`. */
export function copyIdsOf(places: readonly Place[]): string {
  let ids = '';
  for (const { location } of places) ids += `${ids && ','}${location.slice(location.lastIndexOf(':') + 1)}`;
  return ids;
}

const STORED_PLACE = / (\d+)=(\S+)/g;

/** The same, read. What is no place is left out: its copy comes back by itself, and the ledger knows what to do with it. */
export function parsePlaces(text: string): Place[] {
  const places: Place[] = [];
  STORED_PLACE.lastIndex = 0;
  for (let found; places.length < MOST_PLACES && (found = STORED_PLACE.exec(text));) {
    const [, index, location = ''] = found;
    if (isPlace(Number(index), location)) places.push({ index: Number(index), location });
  }
  return places;
}

/** The longest text that a location on this endpoint can have, in bytes. */
export function longestLocation(endpoint: string): number {
  return Buffer.byteLength(endpoint) + 1 + 16 + 1 + 20;
}

/** Texts whose JSON is the text in quotation marks. */
const PLAIN = /^[ !#-[\]-~]*$/;
// oxlint-disable-next-line no-control-regex
const NOT_ASCII = /[^\0-\x7f]/g;

/** JSON in ASCII alone, so that its length is its size in bytes. */
export function asciiJson(value: unknown): string {
  // Nearly all texts are so, and it takes half the time.
  if (typeof value === 'string' && PLAIN.test(value)) return `"${value}"`;
  return JSON.stringify(value).replace(
    NOT_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
