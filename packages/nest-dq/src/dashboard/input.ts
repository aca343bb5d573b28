import type { JobRef } from '../api/job.js';
import { parseRef } from '../copies/job-ref.js';
import { wrongValue } from '../errors.js';
import { checkObject } from '../producer/call-options.js';
import { duration } from '../time/duration.js';

/** Converts a given field of an `Input`. */
type Read<T> = (value: unknown, name: string) => T;

const ZONED = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** The query or the body of a request, with every field checked. An empty string counts as absent. */
export class Input {
  private readonly given: Readonly<Record<string, unknown>>;

  /** Throws `DQ_BAD_OPTION` if it isn't an object, or has unknown fields, which a viewer might believe to take effect. */
  constructor(
    private readonly what: string,
    given: unknown,
    known: readonly string[],
  ) {
    if (given === undefined || Array.isArray(given))
      throw wrongValue('DQ_BAD_OPTION', what, given, 'an object');
    this.given = checkObject(what, given as Readonly<Record<string, unknown>>, known);
  }

  /** Returns `{ [name]: … }` if the field is given, else `{}`. */
  part<Name extends string, T>(name: Name, read: Read<T>): { [N in Name]?: T } {
    const value = this.given[name];
    if (value === undefined || value === '') return {};
    return { [name]: read(value, `\`${name}\` in ${this.what}`) } as { [N in Name]?: T };
  }

  /** Throws `DQ_BAD_OPTION` if it isn't given. */
  must<T>(name: string, read: Read<T>): T {
    const part = this.part(name, read);
    if (name in part) return part[name] as T;
    throw wrongValue('DQ_BAD_OPTION', `\`${name}\` in ${this.what}`, this.given[name], 'a value');
  }

  has(name: string): boolean {
    const value = this.given[name];
    return value !== undefined && value !== '';
  }
}

export function text(value: unknown, name: string): string {
  if (typeof value === 'string') return value;
  throw wrongValue('DQ_BAD_OPTION', name, value, 'a single string');
}

/** A number, or one as a string. */
export function number(value: unknown, name: string): number {
  const parsed = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof parsed === 'number') return parsed;
  throw wrongValue('DQ_BAD_OPTION', name, value, 'a whole number');
}

export function time(value: unknown, name: string): Date {
  const date = typeof value === 'string' && ZONED.test(value) ? new Date(value) : undefined;
  if (date && !Number.isNaN(date.getTime())) return date;
  throw wrongValue('DQ_BAD_TIME', name, value, 'a time with a time zone, such as 2030-01-31T12:00:00Z');
}

/** Times separated by commas. */
export function times(value: unknown, name: string): Date[] {
  return text(value, name)
    .split(',')
    .map((each) => time(each, name));
}

/** Names of tubes separated by commas, which no name has. */
export function names(value: unknown, name: string): string[] {
  return text(value, name).split(',');
}

/** A duration in ms. */
export function span(value: unknown, name: string): number {
  return duration(text(value, name));
}

export function flag(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value;
  throw wrongValue('DQ_BAD_OPTION', name, value, 'true or false');
}

/** True or false in a query. */
export function isSet(value: unknown, name: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  throw wrongValue('DQ_BAD_OPTION', name, value, 'true or false');
}

/** For values checked by the call they are passed to. */
export function anything<T>(value: unknown): T {
  return value as T;
}

/** The fields that name a job. */
export const JOB_FIELDS = ['ref', 'tube', 'id', 'key'] as const;

/**
 * The job named by the fields. Throws `DQ_BAD_REF`, also for a job of another prefix, which belongs to others who share the
 * servers; `DQ_BAD_TUBE`, `DQ_BAD_OPTION`.
 */
export function jobRef(input: Input, prefix: string): JobRef {
  const named = input.has('ref') ? 'ref' : input.has('key') ? 'key' : 'id';
  const value = input.must(named, text);
  const ref: JobRef =
    named === 'ref'
      ? { ref: value }
      : named === 'key'
        ? { tube: input.must('tube', text), key: value }
        : { tube: input.must('tube', text), id: value };
  const { tube } = parseRef(ref, prefix);
  if (tube.startsWith(prefix)) return ref;
  throw wrongValue('DQ_BAD_REF', 'the tube of the reference', tube, `a tube that starts with ${prefix}`);
}
