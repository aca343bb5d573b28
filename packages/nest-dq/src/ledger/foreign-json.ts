import { show } from '../errors.js';

/** How a value of JSON has to look. A field whose shape ends with `?`, or is optional, may be absent; further fields do no harm. */
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

/** Characters. Nothing that we write is longer: the record of a process with 1,000 tubes has 400,000. */
const LONGEST = 2 ** 20;
/** Nothing that we write is greater, or less than its negative: the last time in ms that a Date has. A page cannot show a later one. */
const GREATEST = 8.64e15;

/**
 * JSON out of Redis, where another program may have written, or a version that knows better. What is not as expected is left out,
 * and told, once of each kind.
 */
export class ForeignJson {
  private readonly told = new Set<string>();

  constructor(private readonly warn: (message: string) => void) {}

  /** @param what In Redis, for people. @returns Undefined: it is not as expected. */
  read<T>(what: string, text: string, shape: Shape): T | undefined {
    const value = readShaped<T>(text, shape);
    if (value !== undefined) return value;
    this.tell(what, text);
    return undefined;
  }

  /** It is not what nest-dq writes. */
  tell(what: string, text: string): void {
    if (this.told.has(what)) return;
    this.told.add(what);
    this.warn(`${what} in Redis is left out, as it is not what nest-dq writes: ${show(text)}`);
  }
}

/** Undefined: it is not of this shape. */
export function readShaped<T>(text: string, shape: Shape): T | undefined {
  const value = text.length > LONGEST ? undefined : parsed(text);
  return isShaped(value, shape) ? (value as T) : undefined;
}

/** Undefined: it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // no shape takes it
  }
}

function isShaped(value: unknown, shape: Shape): boolean {
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
