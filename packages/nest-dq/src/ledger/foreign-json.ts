import { show } from '../errors.js';

/** The expected shape of a JSON value. A field whose shape ends with `?` or is optional may be absent; extra fields are ignored. */
export type Shape =
  | 'text'
  | 'number'
  | 'boolean'
  | 'text?'
  | 'number?'
  | { readonly optional: Shape }
  | { readonly list: Shape }
  | { readonly values: Shape }
  | { readonly fields: Readonly<Record<string, Shape>> };

/** Longest accepted string, in characters. We write nothing longer: the record of a process with 1,000 tubes has 400,000. */
const LONGEST = 2 ** 20;
/**
 * Greatest accepted number, negative or positive: the last time in ms a Date can hold. We write none beyond it, and a page
 * couldn't show one.
 */
const GREATEST = 8.64e15;

/**
 * Reads JSON from Redis, which another program or a newer version may have written. Unexpected values are skipped and logged,
 * once of each kind.
 */
export class ForeignJson {
  private readonly warned = new Set<string>();

  constructor(private readonly warn: (message: string) => void) {}

  /**
   * @param what Name of the value in Redis, for the log.
   * @returns Undefined if the value isn't as expected.
   */
  read<T>(what: string, text: string, shape: Shape): T | undefined {
    const value = readShaped<T>(text, shape);
    if (value !== undefined) return value;
    this.warnOnce(what, text);
    return undefined;
  }

  /** Logs a value that nest-dq didn't write. */
  warnOnce(what: string, text: string): void {
    if (this.warned.has(what)) return;
    this.warned.add(what);
    this.warn(`ignoring ${what} in Redis, which is not in nest-dq's format: ${show(text)}`);
  }
}

/** Parses JSON; returns undefined if the value isn't of this shape. */
export function readShaped<T>(text: string, shape: Shape): T | undefined {
  const value = text.length > LONGEST ? undefined : parsed(text);
  return isShaped(value, shape) ? (value as T) : undefined;
}

/** Returns undefined if it isn't JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // fits no shape
  }
}

/** Whether a value that was parsed from JSON is of this shape. */
export function isShaped(value: unknown, shape: Shape): boolean {
  if (typeof shape === 'string') {
    if (value === undefined) return shape.endsWith('?');
    if (typeof value === 'number') return shape.startsWith('number') && Math.abs(value) <= GREATEST;
    return shape.startsWith('text') ? typeof value === 'string' : shape === typeof value;
  }
  if ('optional' in shape) return value === undefined || isShaped(value, shape.optional);
  if (typeof value !== 'object' || value === null) return false;
  if ('list' in shape) return Array.isArray(value) && value.every((each) => isShaped(each, shape.list));
  if (Array.isArray(value)) return false;
  if ('values' in shape) return Object.values(value).every((each) => isShaped(each, shape.values));
  const fields = value as Readonly<Record<string, unknown>>;
  return Object.entries(shape.fields).every(([name, each]) => isShaped(fields[name], each));
}
