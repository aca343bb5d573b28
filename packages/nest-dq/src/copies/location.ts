/**
 * Where a copy is: `endpoint#instance:copyId`. A copy whose put got no answer has the id `?`.
 * A later format may put several copies into one beanstalkd job and name one of them `…:copyId/entry`. An unreadable place counts
 * as away, so this version never deletes such a job, nor takes a copy in it for gone.
 */
export interface Location {
  readonly endpoint: string;
  /** The `id` from the server's `stats`. If it has changed, the server may have reused the copy's id. */
  readonly instance: string;
  readonly copyId: string;
}

export const UNKNOWN_COPY = '?';
const UNKNOWN_END = `:${UNKNOWN_COPY}`;
const COPY_ID = /^(\d{1,20}|\?)$/;
/** Max places of a job: at most one per node, including puts without an answer. So also the max number of nodes. */
export const MAX_PLACES = 100;
/** In characters: a host name of 253, a port, an instance and an id. */
const LONGEST_LOCATION = 300;

export function formatLocation(endpoint: string, instance: string, copyId: string): string {
  return locationStart(endpoint, instance) + copyId;
}

/** Returns the prefix of all locations of one server. The copy's id follows. */
export function locationStart(endpoint: string, instance: string): string {
  return `${endpoint}#${instance}:`;
}

/** Returns undefined if `text` isn't a location. */
export function parseLocation(text: string): Location | undefined {
  const hash = text.indexOf('#');
  const colon = text.indexOf(':', hash);
  if (hash < 1 || colon < 0 || text.lastIndexOf('#') > hash) return undefined;
  const copyId = text.slice(colon + 1);
  if (!COPY_ID.test(copyId)) return undefined;
  return { endpoint: text.slice(0, hash), instance: text.slice(hash + 1, colon), copyId };
}

/** Returns whether the copy's put got no answer, so that nobody knows if and where it exists. */
export function isUnknown(location: string): boolean {
  return location.endsWith(UNKNOWN_END);
}

/** One copy of a job and where it is; `location` as returned by `formatLocation`. */
export interface Place {
  /** 0 is the primary. */
  readonly index: number;
  readonly location: string;
}

/** Returns a bitmask in which bit i stands for copy i. */
export function maskOf(places: Iterable<{ readonly index: number }>): number {
  let mask = 0;
  for (const { index } of places) mask |= 1 << index;
  return mask;
}

/** Returns whether a put got no answer, so that one more copy may exist somewhere. */
export function hasUnknown(places: readonly Place[]): boolean {
  return places.some(({ location }) => isUnknown(location));
}

/** Formats places as in copies and references: `[0,"host:11300#instance:7"],[1,…`, in ASCII. */
export function placesJson(places: readonly Place[]): string {
  let json = '';
  for (const { index, location } of places) json += `${json && ','}[${index},${asciiJson(location)}]`;
  return json;
}

/** Parses the JSON of `placesJson`. Undefined if it isn't a list of places, or is too long. */
export function readPlaces(wire: unknown): Place[] | undefined {
  if (!Array.isArray(wire) || wire.length > MAX_PLACES) return undefined;
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

/** Formats places as the ledger stores them: ` 0=host:11300#instance:7 1=…`, with a space before each. */
export function formatPlaces(places: readonly Place[]): string {
  return places.map(({ index, location }) => ` ${index}=${location}`).join('');
}

/** Like `formatPlaces`, without the copy ids: the server of each copy. */
export function layoutOf(places: readonly Place[]): string {
  let layout = '';
  for (const { index, location } of places)
    layout += ` ${index}=${location.slice(0, location.lastIndexOf(':'))}`;
  return layout;
}

/** Returns the copy ids that `layoutOf` leaves out, in the same order: `7,18`. */
export function copyIdsOf(places: readonly Place[]): string {
  let ids = '';
  for (const { location } of places) ids += `${ids && ','}${location.slice(location.lastIndexOf(':') + 1)}`;
  return ids;
}

const STORED_PLACE = / (\d+)=(\S+)/g;

/**
 * Parses the string of `formatPlaces`. Skips anything that isn't a place: its copy surfaces on its own, and the ledger knows what
 * to do with it.
 */
export function parsePlaces(text: string): Place[] {
  const places: Place[] = [];
  STORED_PLACE.lastIndex = 0;
  for (let found; places.length < MAX_PLACES && (found = STORED_PLACE.exec(text));) {
    const [, index, location = ''] = found;
    if (isPlace(Number(index), location)) places.push({ index: Number(index), location });
  }
  return places;
}

/** Returns the max length of a location on this endpoint, in bytes. */
export function longestLocation(endpoint: string): number {
  return Buffer.byteLength(endpoint) + 1 + 16 + 1 + 20;
}

/** Strings whose JSON is just the string in quotes. */
const PLAIN = /^[ !#-[\]-~]*$/;
// oxlint-disable-next-line no-control-regex
const NOT_ASCII = /[^\0-\x7f]/g;

/** Returns JSON in ASCII only, so that its length is its size in bytes. */
export function asciiJson(value: unknown): string {
  // The fast path for nearly all strings: half the time.
  if (typeof value === 'string' && PLAIN.test(value)) return `"${value}"`;
  return JSON.stringify(value).replace(
    NOT_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
