import { types } from 'node:util';
import { escaped } from 'nest-handlers/log';
import type { PayloadIssue } from 'nest-handlers/schema';

/** Meaning of each code, and who has to act; docs/errors.md says what to do about each. */
const CODES = {
  DQ_CONFIG: 'invalid configuration; the application does not start',
  DQ_LISTEN: 'the embedded node, or `nest-dq dashboard`, cannot listen on that address',
  DQ_BAD_TUBE: 'invalid tube name',
  DQ_BAD_PAYLOAD: "the payload cannot be stored, or its tube's schema rejects it",
  DQ_BAD_DURATION: 'invalid duration',
  DQ_BAD_TIME: 'invalid point in time',
  DQ_BAD_OPTION: 'a job or handler option is invalid or not available yet',
  DQ_BAD_REF: 'neither a receipt of this library nor its `ref`',
  DQ_PAST_TIME: 'the time is in the past',
  DQ_TOO_FAR: 'the time is further ahead than beanstalkd can count',
  DQ_DUPLICATE: 'a job with this key is waiting or running',
  DQ_UNCONFIRMED: 'the job is revoked, but deleting its copies could not be confirmed',
  DQ_NO_COPY: 'no copy of the job is reachable, so it cannot be moved',
  DQ_TOO_FEW_COPIES: 'fewer nodes than `minWritten` stored the job',
  DQ_OUTBOX_UNSURE: 'a relay cannot know whether a job of the outbox was added and ran',
  DQ_NOT_FINISHED: 'the job had not ended when `finished` stopped waiting',
  DQ_UNKNOWN_JOB: 'nobody knows the job whose end is awaited',
  DQ_CONFLICT: 'the job was moved, replaced or run on every try',
  DQ_OVERLOADED: 'too many calls are waiting for unreachable servers',
  DQ_LEDGER_DOWN: 'Redis did not answer',
  DQ_OTHER_LEDGER: 'other processes use the same nodes with another Redis',
  DQ_BAD_SEAL: 'a copy has no valid seal, or this process lacks its key',
  DQ_DISK: "the embedded node's folder cannot be opened or written",
  DQ_CLOSED: 'the module is closed',
  DQ_TIMEOUT: 'the handler exceeded its `timeout`, or an interceptor stopped waiting for it',
  DQ_REVOKED: 'the job was revoked with `abort` while running',
  DQ_SHUTDOWN: 'the process is shutting down and its `shutdownTimeout` has expired',
  DQ_LEASE_LOST: 'the lease of this run was lost; another process may run the job',
} as const;

/** Stable code of an error; docs/errors.md has an entry for each. */
export type DqErrorCode = keyof typeof CODES;

/** All codes; the documentation is checked against it. */
export const DQ_ERROR_CODES = Object.keys(CODES) as readonly DqErrorCode[];

/** Progress of a bulk operation. */
export interface ActProgress {
  /** Number of jobs changed; in a dry run, number that would be. */
  readonly done: number;
  /** Number left unchanged because of an error of their own, such as `DQ_NO_COPY`. With `DQ_UNCONFIRMED` the job is revoked. */
  readonly failed: number;
  /** Number skipped because something else changed them in the meantime. */
  readonly skipped: number;
  /** Pass it to the same operation to continue from here. Undefined if the operation is complete or has not started. */
  readonly cursor?: string;
}

/** Details of a `DqError`, which become its fields. */
export interface DqErrorDetails {
  /** Underlying error, such as a node's. @default none */
  cause?: unknown;
  /** Whether the job may still run. @default false */
  indeterminate?: boolean;
  /** Reason per node, by endpoint. @default none */
  nodes?: Readonly<Record<string, string>>;
  /** Issues reported by the tube's schema. @default none */
  issues?: readonly PayloadIssue[];
  /** Progress of a bulk operation before this error ended it. @default none */
  progress?: ActProgress;
  /** Jobs of `addMany` that were not added. @default none */
  failures?: readonly { readonly index: number; readonly error: DqError }[];
}

/** The only error class of this library. Match on `code`; the message is for people. */
export class DqError extends Error {
  /** Stable code; the message begins with it. */
  readonly code: DqErrorCode;
  /** True if the job may still run although the call failed; don't blindly add it again. */
  readonly indeterminate: boolean;
  /** Reason per node, by endpoint, if nodes were asked. */
  declare readonly nodes?: Readonly<Record<string, string>>;
  /** Issues reported by the tube's schema, if it was consulted. */
  declare readonly issues?: readonly PayloadIssue[];
  /** Progress of a bulk operation before this error ended it. */
  declare readonly progress?: ActProgress;
  /** Jobs of `addMany` that were not added, by their index in the list. All others were. */
  declare readonly failures?: readonly { readonly index: number; readonly error: DqError }[];

  constructor(code: DqErrorCode, message: string, details: DqErrorDetails = {}) {
    super(`${code}: ${message}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'DqError';
    this.code = code;
    this.indeterminate = details.indeterminate ?? false;
    if (details.nodes) this.nodes = details.nodes;
    if (details.issues) this.issues = details.issues;
    if (details.progress) this.progress = details.progress;
    if (details.failures) this.failures = details.failures;
  }
}

/** Returns the message without the code, for use in another error's message. */
export function factOf({ code, message }: DqError): string {
  return message.slice(`${code}: `.length);
}

/** Returns the error for an invalid value, with what was expected. */
export function wrongValue(code: DqErrorCode, what: string, value: unknown, expected: string): DqError {
  return new DqError(code, `${what} is ${show(value)}: expected ${expected}`);
}

/** Returns the error for an unknown name, such as an option's, listing the valid ones. */
export function unknownName(code: DqErrorCode, what: string, known: Iterable<string>): DqError {
  return new DqError(code, `unknown ${what}: expected one of ${[...known].join(', ')}`);
}

/** Formats a value for an error message: one line, short, quoted. Never throws. */
export function show(value: unknown): string {
  return escaped(shown(value));
}

/** Makes a foreign string, such as a server's error, safe for a log or a terminal: one line, at most 300 characters. */
export function printable(text: string): string {
  return escaped(text.length > 300 ? `${text.slice(0, 300)}…` : text);
}

function shown(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
  if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  if (typeof value === 'object' && value !== null) {
    const text = safeJson(value);
    return text.length > 100 ? `${text.slice(0, 100)}…` : text;
  }
  return String(value);
}

function safeJson(value: object): string {
  try {
    return JSON.stringify(value) ?? Object.prototype.toString.call(value);
  } catch {
    return Object.prototype.toString.call(value); // a cycle or a throwing getter: its kind is all we can show
  }
}

/** Max characters kept of an application's string: an error's message, or its stack. */
export const TEXT_LIMIT = 2_000;

/** Truncates a string to `TEXT_LIMIT` characters, for the log. */
export function shorten(text: string): string {
  const more = text.length - TEXT_LIMIT;
  return more <= 0 ? text : `${text.slice(0, TEXT_LIMIT)}… (${more} more characters)`;
}

/**
 * Converts anything thrown to an Error that can be logged and serialized as JSON. Handlers may throw anything, including an Error
 * of another realm (Node's own, under Jest), or one whose name, message or stack isn't a string.
 */
export function toError(thrown: unknown): Error {
  try {
    if (!(thrown instanceof Error || types.isNativeError(thrown))) {
      return new Error(`a non-Error value was thrown: ${show(thrown)}`);
    }
    const { name, message, stack = '' } = thrown;
    if ([name, message, stack].every((part) => typeof part === 'string')) return thrown;
    return new Error(`an Error with non-string fields was thrown: ${show({ name, message })}`);
  } catch {
    return new Error('an unreadable value was thrown'); // a getter or a proxy's trap threw
  }
}

/** Gives an error without a message one: Node sets none when a connection failed at every address of a host. */
export function inWords(error: Error): Error {
  if (error.message !== '' || !(error instanceof AggregateError)) return error;
  const reasons = error.errors.map((each: unknown) => toError(each).message);
  return new Error(reasons.join(', '), { cause: error });
}
