import { types } from 'node:util';
import { escaped } from 'nest-handlers/log';
import type { PayloadIssue } from 'nest-handlers/schema';

/** What each code means, and whose turn it is; docs/errors.md says what to do about each. */
const CODES = {
  DQ_CONFIG: 'the module is configured wrongly; the application does not start',
  DQ_LISTEN: 'the embedded node, or the command `nest-dq dashboard`, cannot listen there',
  DQ_BAD_TUBE: 'no valid tube name',
  DQ_BAD_PAYLOAD: "the payload cannot be stored, or its tube's schema refuses it",
  DQ_BAD_DURATION: 'no valid duration',
  DQ_BAD_TIME: 'no valid instant',
  DQ_BAD_OPTION: 'a job or handler option is wrong, or not available yet',
  DQ_BAD_REF: 'not a receipt of this library, nor its `ref`',
  DQ_PAST_TIME: 'the instant is over',
  DQ_TOO_FAR: 'the instant is further ahead than beanstalkd can count',
  DQ_DUPLICATE: 'a job of this key waits or runs',
  DQ_UNCONFIRMED: 'the job is revoked, but the deletion of its copies could not be confirmed',
  DQ_NO_COPY: 'no copy of the job is in reach, so it cannot be moved',
  DQ_TOO_FEW_COPIES: 'fewer nodes than `minWritten` stored the job',
  DQ_CONFLICT: 'the job was moved, replaced or run each time',
  DQ_OVERLOADED: 'too many calls wait for servers that are away',
  DQ_LEDGER_DOWN: 'Redis did not answer',
  DQ_OTHER_LEDGER: 'other processes use the same nodes with another Redis',
  DQ_BAD_SEAL: 'a copy is not sealed as it should be, or not with a key of this process',
  DQ_DISK: 'the folder of the embedded node cannot be opened or written',
  DQ_CLOSED: 'the module is closed',
  DQ_TIMEOUT: 'the handler took longer than its `timeout`, or than an interceptor waited',
  DQ_REVOKED: 'the job was revoked with `abort` while it ran',
  DQ_SHUTDOWN: 'the process shuts down, and its drain limit is over',
  DQ_LEASE_LOST: 'the right to run this job was lost; another process may run it',
} as const;

/** What an error is about; docs/errors.md has a line for each. */
export type DqErrorCode = keyof typeof CODES;

/** Every code there is; the documentation is checked against it. */
export const DQ_ERROR_CODES = Object.keys(CODES) as readonly DqErrorCode[];

/** How far an act on many has come. */
export interface ActProgress {
  /** Changed; in a dry run: what would be. */
  readonly done: number;
  /** They stay as they were, because of an error of their own, such as `DQ_NO_COPY`. With `DQ_UNCONFIRMED` a job is revoked. */
  readonly failed: number;
  /** Others changed them in between, so they were left alone. */
  readonly skipped: number;
  /** Give it to the same act to go on from here. Undefined: the act is through, or has not begun. */
  readonly cursor?: string;
}

/** What a `DqError` says beside its code and message; the fields are the error's own. */
export interface DqErrorDetails {
  /** What was underneath, such as the error of a node. @default none */
  cause?: unknown;
  /** Whether the job may still run. @default false */
  indeterminate?: boolean;
  /** Each node's reason, by endpoint. @default none */
  nodes?: Readonly<Record<string, string>>;
  /** What the tube's schema finds wrong. @default none */
  issues?: readonly PayloadIssue[];
  /** How far an act on many came before this error ended it. @default none */
  progress?: ActProgress;
}

/** The one error class of this library. Match on `code`; the message is for people. */
export class DqError extends Error {
  /** What it is about; the message begins with it. */
  readonly code: DqErrorCode;
  /** True: the job may still run although the call failed; do not add it again blindly. */
  readonly indeterminate: boolean;
  /** Each node's reason, by endpoint, where nodes were asked. */
  declare readonly nodes?: Readonly<Record<string, string>>;
  /** What the tube's schema finds wrong, where it was asked. */
  declare readonly issues?: readonly PayloadIssue[];
  /** How far an act on many came before this error ended it. */
  declare readonly progress?: ActProgress;

  constructor(code: DqErrorCode, message: string, details: DqErrorDetails = {}) {
    super(`${code}: ${message}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'DqError';
    this.code = code;
    this.indeterminate = details.indeterminate ?? false;
    if (details.nodes) this.nodes = details.nodes;
    if (details.issues) this.issues = details.issues;
    if (details.progress) this.progress = details.progress;
  }
}

/** What an error says, without its code: for the message of another. */
export function factOf({ code, message }: DqError): string {
  return message.slice(`${code}: `.length);
}

/** The error of a value that is wrong, which says what was expected. */
export function wrongValue(code: DqErrorCode, what: string, value: unknown, expected: string): DqError {
  return new DqError(code, `${what} is ${show(value)}: expected ${expected}`);
}

/** The error of a name that does not exist, such as an option's, with the names that do. */
export function unknownName(code: DqErrorCode, what: string, known: Iterable<string>): DqError {
  return new DqError(code, `there is no ${what}: expected one of ${[...known].join(', ')}`);
}

/** A value as an error message shows it: in one line, short, quoted, never throwing. */
export function show(value: unknown): string {
  return escaped(shown(value));
}

/** A text of somebody else, such as a server's error, as a log or a terminal may show it: in one line, of 300 characters at most. */
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
    return Object.prototype.toString.call(value); // a cycle or a throwing getter: the kind must do
  }
}

/** Characters that are kept of a text of the application's: an error's message, or its stack. */
export const TEXT_LIMIT = 2_000;

/** For the log: a text of any length, of which the first `TEXT_LIMIT` characters stay. */
export function shorten(text: string): string {
  const more = text.length - TEXT_LIMIT;
  return more <= 0 ? text : `${text.slice(0, TEXT_LIMIT)}… (${more} characters more)`;
}

/**
 * What was thrown, as an Error that can be logged and written as JSON: handlers may throw anything, an Error of another
 * realm too (Node's own, under Jest), or one whose name, message or stack is no text.
 */
export function toError(thrown: unknown): Error {
  try {
    if (!(thrown instanceof Error || types.isNativeError(thrown))) {
      return new Error(`a value that is no Error was thrown: ${show(thrown)}`);
    }
    const { name, message, stack = '' } = thrown;
    if ([name, message, stack].every((part) => typeof part === 'string')) return thrown;
    return new Error(`an Error that is not made of texts was thrown: ${show({ name, message })}`);
  } catch {
    return new Error('a value that cannot be read was thrown'); // a getter or a proxy's trap threw
  }
}

/** An error with words: Node has none for a connection to a host with several addresses, of which each failed. */
export function inWords(error: Error): Error {
  if (error.message !== '' || !(error instanceof AggregateError)) return error;
  const reasons = error.errors.map((each: unknown) => toError(each).message);
  return new Error(reasons.join(', '), { cause: error });
}
