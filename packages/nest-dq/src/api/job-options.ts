import { hasFieldsOnly } from 'nest-handlers/schema';
import { FIRST_TIMESTAMP, type Duration, type When } from 'nest-handlers/time';
import { resolveBackoff, type ResolvedBackoff } from '../time/backoff.js';
import { DqError, show, unknownName, wrongValue } from '../errors.js';
import type { JobOptions, OnDuplicate, Priority } from './job.js';
import { parseDuration } from '../time/duration.js';
import { parseWhen } from '../time/instant.js';

/** Checked job options. */
export interface ResolvedJobOptions {
  readonly key?: string;
  readonly onDuplicate: OnDuplicate;
  /** 0 high, 1 normal, 2 low; an index into `PRIORITIES`. */
  readonly priority: number;
  readonly attempts?: number;
  readonly backoff?: ResolvedBackoff;
  readonly headers?: Readonly<Record<string, string>>;
  readonly group?: string;
  /** As in a copy's header: ms after the due time, or a time. */
  readonly expires?: number;
  readonly allowPast: boolean;
  /** In ms. */
  readonly patience?: number;
}

/** Indexed by the number stored in a copy. */
export const PRIORITIES: readonly Priority[] = ['high', 'normal', 'low'];
const ON_DUPLICATE = ['replace', 'keep', 'reject'];
export const LONGEST_KEY = 500;
const LONGEST_GROUP = 100;
/** Max total characters of all headers. Encoded in a copy's header they take at most six times as much, which still fits. */
const LONGEST_HEADERS = 100_000;
const KNOWN = new Set([
  'key',
  'onDuplicate',
  'priority',
  'attempts',
  'backoff',
  'headers',
  'group',
  'expireAfter',
  'expireAt',
  'allowPast',
  'patience',
]);
const NONE: readonly string[] = [];
const DEFAULTS: ResolvedJobOptions = { onDuplicate: 'replace', priority: 1, allowPast: false };

/**
 * Validates the options of one job. `alongside` lists other field names allowed in the same object. Throws `DQ_BAD_OPTION`, or
 * `DQ_BAD_DURATION` for `patience` and inside `backoff`.
 */
export function resolveJobOptions(
  options: JobOptions | undefined,
  alongside: readonly string[] = NONE,
): ResolvedJobOptions {
  if (options === undefined) return DEFAULTS;
  if (typeof options !== 'object' || options === null)
    throw wrongValue('DQ_BAD_OPTION', 'the options of the job', options, 'an object');
  refuseUnknown(options, KNOWN, 'job', alongside);
  const { key, onDuplicate, priority, attempts, backoff, headers, group, allowPast, patience } = options;
  const { expireAfter, expireAt } = options;
  // An undefined key is usually a forgotten id; the job could never be found by its key.
  if ('key' in options) checkKey(key, '`key`', 'DQ_BAD_OPTION');
  if (group !== undefined) checkName(group, '`group`', 'DQ_BAD_OPTION', LONGEST_GROUP);
  if (onDuplicate !== undefined) {
    if (!ON_DUPLICATE.includes(onDuplicate))
      throw wrongValue('DQ_BAD_OPTION', '`onDuplicate`', onDuplicate, "'replace', 'keep' or 'reject'");
    if (key === undefined) throw wrongValue('DQ_BAD_OPTION', '`onDuplicate`', onDuplicate, 'a `key` as well');
  }
  if (priority !== undefined && !PRIORITIES.includes(priority)) {
    throw wrongValue('DQ_BAD_OPTION', '`priority`', priority, "'high', 'normal' or 'low'");
  }
  if (allowPast !== undefined && typeof allowPast !== 'boolean')
    throw wrongValue('DQ_BAD_OPTION', '`allowPast`', allowPast, 'a boolean');
  if (headers !== undefined) checkHeaders(headers);
  return {
    key,
    onDuplicate: onDuplicate ?? 'replace',
    priority: priority === undefined ? 1 : PRIORITIES.indexOf(priority),
    attempts: attempts === undefined ? undefined : checkCount('attempts', attempts),
    backoff: backoff === undefined ? undefined : resolveBackoff(backoff),
    // Copied, because the caller may mutate its object later.
    headers: headers && { ...headers },
    group,
    expires: expiryIn(expireAfter, expireAt),
    allowPast: allowPast ?? false,
    patience: patience === undefined ? undefined : parseDuration(patience, '`patience`'),
  };
}

function expiryIn(after: Duration | undefined, at: When | undefined): number | undefined {
  if (after !== undefined && at !== undefined)
    throw wrongValue('DQ_BAD_OPTION', '`expireAt`', at, 'none, because `expireAfter` is given');
  if (at === undefined) return after === undefined ? undefined : checkExpireAfter(after);
  const time = parseWhen(at, (given) => `{ expireAfter: ${given} }`);
  if (time >= FIRST_TIMESTAMP) return Math.ceil(time);
  throw wrongValue('DQ_BAD_OPTION', '`expireAt`', at, 'a time after the job is due');
}

/** Returns the time in ms. Throws `DQ_BAD_OPTION`, `DQ_BAD_DURATION`. */
export function checkExpireAfter(after: Duration): number {
  const ms = parseDuration(after, '`expireAfter`');
  if (ms > 0) return Math.ceil(ms);
  throw wrongValue('DQ_BAD_OPTION', '`expireAfter`', after, 'a duration longer than 0');
}

/** Returns the options with the headers a hook produced. `DQ_BAD_OPTION`. */
export function withHeaders(
  options: ResolvedJobOptions,
  headers: Record<string, string>,
): ResolvedJobOptions {
  checkHeaders(headers);
  return { ...options, headers: Object.keys(headers).length > 0 ? headers : undefined };
}

export function isKey(value: unknown): value is string {
  return isName(value, LONGEST_KEY);
}

export function isGroup(value: unknown): value is string {
  return isName(value, LONGEST_GROUP);
}

/** Checks for a string of 1 to 500 characters. */
export function checkKey(key: unknown, what: string, code: 'DQ_BAD_OPTION' | 'DQ_BAD_REF'): string {
  return checkName(key, what, code, LONGEST_KEY);
}

function checkName(
  name: unknown,
  what: string,
  code: 'DQ_BAD_OPTION' | 'DQ_BAD_REF',
  longest: number,
): string {
  if (isName(name, longest)) return name;
  const long = typeof name === 'string' && name.length > longest ? `, ${name.length} characters` : '';
  throw new DqError(code, `${what} is ${show(name)}${long}: expected a string of 1 to ${longest} characters`);
}

function isName(name: unknown, longest: number): name is string {
  return typeof name === 'string' && name.length > 0 && name.length <= longest;
}

/** Checks for an integer of at least 1. `DQ_BAD_OPTION`. */
export function checkCount(name: string, value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1) {
    throw wrongValue('DQ_BAD_OPTION', `\`${name}\``, value, 'a positive integer');
  }
  return value as number;
}

/** Rejects unknown option names, such as misspelt ones. `DQ_BAD_OPTION`. */
export function refuseUnknown(
  options: object,
  known: ReadonlySet<string>,
  what: string,
  alongside: readonly string[] = NONE,
): void {
  for (const name of Object.keys(options)) {
    if (known.has(name) || alongside.includes(name)) continue;
    const value = (options as Record<string, unknown>)[name];
    if (value === undefined) continue;
    throw unknownName('DQ_BAD_OPTION', `${what} option \`${name}\` (given ${show(value)})`, known);
  }
}

function checkHeaders(headers: Record<string, string>): void {
  // A Map or fetch's Headers has no own properties, so its entries would be lost.
  if (typeof headers !== 'object' || headers === null || !hasFieldsOnly(headers)) {
    throw wrongValue('DQ_BAD_OPTION', '`headers`', headers, 'an object with string values');
  }
  let length = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string')
      throw wrongValue('DQ_BAD_OPTION', `the header \`${name}\``, value, 'a string');
    length += name.length + value.length;
  }
  if (length <= LONGEST_HEADERS) return;
  throw wrongValue(
    'DQ_BAD_OPTION',
    'the total length of `headers`',
    length,
    `at most ${LONGEST_HEADERS} characters`,
  );
}
