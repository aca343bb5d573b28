/** Writes payloads as JSON, refusing whatever wouldn't come back unchanged. */

/** Max nesting of arrays and objects: more would overflow the stack of the check. */
const DEEPEST = 1_000;

/** The first part of a payload that wouldn't come back unchanged. */
export interface JsonLoss {
  /** Path, such as `.items[3].at`; empty for the payload as a whole. */
  readonly at: string;
  /** The value found and the one expected, phrased to follow the path: `is NaN: expected a finite number`. */
  readonly fact: string;
  /** The error thrown when reading it. */
  readonly cause?: unknown;
}

/**
 * Returns a payload as JSON, or the first part of it that JSON would refuse, drop or change. The result of a `toJSON` replaces
 * its object. Undefined properties and symbol keys are dropped; a class instance comes back as a plain object, and -0 as 0.
 */
export function writeJson(payload: unknown): string | JsonLoss {
  let json: string | undefined;
  let failure: unknown;
  try {
    json = JSON.stringify(payload);
  } catch (thrown) {
    // The check below finds the same part and names it; only a string that is too long has none.
    if (isTooLong(thrown)) return lost(`cannot be written as JSON: ${wordsOf(thrown)}`, thrown);
    failure = thrown;
  }
  return lossOf(payload) ?? json ?? lost(`cannot be written as JSON: ${wordsOf(failure)}`, failure);
}

/** Whether JSON sees all an object has: it is a plain object, or a class instance with fields. */
export function hasFieldsOnly(value: object): boolean {
  return !Array.isArray(value) && lossOfKind(value) === undefined;
}

function lost(fact: string, cause?: unknown): JsonLoss {
  return { at: '', fact, ...(cause !== undefined && { cause }) };
}

function lossOf(payload: unknown): JsonLoss | undefined {
  try {
    return lossIn(payload, '', 1);
  } catch (thrown) {
    if (thrown === TOO_DEEP) return cycleIn(payload, []) ?? DEEP;
    return lost(`cannot be read: ${wordsOf(thrown)}`, thrown); // a proxy trap threw, or the proxy is revoked
  }
}

const DEEP = lost(`has more than ${DEEPEST} levels of arrays and objects: expected fewer`);

/** Fact about a hole in an array. */
const HOLE = 'is undefined: expected null, which is what JSON stores';

/** Thrown rather than returned, because a loss would have a path as long as the nesting is deep. */
const TOO_DEEP = new Error('too deep');

/** Returns the first loss. Every payload passes through here, so nothing is allocated before a loss is found. */
function lossIn(value: unknown, key: string | number, depth: number): JsonLoss | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : lost(`is ${value}: expected a finite number`);
    case 'object':
      if (value === null) return undefined;
      if (depth > DEEPEST) throw TOO_DEEP;
      return convertsItself(value) ? lossInConverted(value, key, depth) : lossInFields(value, depth);
    case 'bigint':
      // Some applications define a `toJSON` for all bigints.
      if (convertsItself(value)) return lossInConverted(value, key, depth);
      return lost(`is ${value}n: expected a JSON value, such as its digits in a string`);
    case 'function':
      return lost(`is function ${value.name || '(anonymous)'}: expected a JSON value`);
    case 'symbol':
      return lost(`is ${String(value)}: expected a JSON value`);
    case 'undefined':
      return lost('is undefined: expected a JSON value');
  }
}

function lossInFields(value: object, depth: number): JsonLoss | undefined {
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const part: unknown = value[index];
      const loss = part === undefined ? lost(HOLE) : lossIn(part, index, depth + 1);
      if (loss) return { ...loss, at: `[${index}]${loss.at}` };
    }
    return undefined;
  }
  const kind = lossOfKind(value);
  if (kind) return kind;
  for (const name in value) {
    let part: unknown;
    try {
      part = (value as Record<string, unknown>)[name];
    } catch (thrown) {
      return { at: placeOf(name), fact: `cannot be read: ${wordsOf(thrown)}`, cause: thrown };
    }
    // JSON drops undefined properties, as everyone expects.
    if (part === undefined) continue;
    if (typeof part === 'object' && part !== null && !Object.hasOwn(value, name)) continue;
    const loss = lossIn(part, name, depth + 1);
    if (loss && Object.hasOwn(value, name)) return { ...loss, at: placeOf(name) + loss.at };
  }
  return undefined;
}

function convertsItself(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

function lossInConverted(
  value: { toJSON(key: string): unknown },
  key: string | number,
  depth: number,
): JsonLoss | undefined {
  if (value instanceof Date && value.toJSON === Date.prototype.toJSON) return lossInDate(value); // needn't be written twice
  let converted: unknown;
  try {
    converted = value.toJSON(String(key));
  } catch (thrown) {
    return { at: '.toJSON()', fact: `throws: ${wordsOf(thrown)}`, cause: thrown };
  }
  // JSON doesn't call `toJSON` on its result again.
  const isObject = typeof converted === 'object' && converted !== null;
  const loss = isObject ? lossInFields(converted as object, depth) : lossIn(converted, key, depth);
  return loss && { ...loss, at: `.toJSON()${loss.at}` };
}

function lossInDate(date: Date): JsonLoss | undefined {
  return Number.isNaN(date.getTime()) ? lost('is an invalid Date: expected a valid one') : undefined;
}

/** Returns the loss of an object whose content isn't, or isn't only, in properties. */
function lossOfKind(value: object): JsonLoss | undefined {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === Object.prototype || prototype === null) return undefined;
  const kind = tagOf(value);
  if (kind === 'Promise' || typeof (value as { then?: unknown }).then === 'function')
    return lost('is a Promise: expected a JSON value; is an await missing?');
  // Built-ins have a tag: a Map, an Error, a Uint8Array, a URLSearchParams.
  if (kind !== 'Object') return lost(`is ${/^[AEIO]/.test(kind) ? 'an' : 'a'} ${kind}: ${KEPT_ELSEWHERE}`);
  // A class's fields may be private. A plain object of another realm has no prototype above its own.
  if (Object.keys(value).length > 0 || Object.getPrototypeOf(prototype) === null) return undefined;
  const { name } = value.constructor;
  return lost(`is an instance of ${name || 'a class'} without fields: ${KEPT_ELSEWHERE}`);
}

const KEPT_ELSEWHERE = 'expected a JSON value; JSON would drop its content, or the part that matters';

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

/** Finds where an object contains itself, on the first path that is too deep. */
function cycleIn(value: unknown, around: readonly object[]): JsonLoss | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (around.length > DEEPEST) return DEEP;
  if (around.includes(value)) return lost('is an object that contains itself: expected no cycle');
  for (const name of Object.keys(value)) {
    const found = cycleIn((value as Record<string, unknown>)[name], [...around, value]);
    if (found === DEEP) return DEEP;
    if (found) return { ...found, at: (Array.isArray(value) ? `[${name}]` : placeOf(name)) + found.at };
  }
  return undefined;
}

function isTooLong(thrown: unknown): boolean {
  return thrown instanceof RangeError && thrown.message.includes('string length');
}

function placeOf(name: string): string {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function wordsOf(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
}
