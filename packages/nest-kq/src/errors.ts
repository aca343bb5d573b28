import type { PayloadIssue } from 'nest-handlers/schema';
import { inspect, types } from 'node:util';

/** What each code means, and whose turn it is. */
const CODES = {
  KQ_CONFIG: 'the configuration is wrong',
  KQ_BAD_TOPIC: 'no valid name of a topic',
  KQ_BAD_OPTION: 'an option of a topic or a handler is wrong',
  KQ_BAD_MESSAGE: "the message cannot be stored or read, or its topic's schema refuses it",
  KQ_UNKNOWN_TOPIC: 'there is no topic of this name',
  KQ_TOO_LARGE: 'the message is larger than its topic takes',
  KQ_REFUSED: 'the brokers refuse: wrong credentials, or a missing right',
  KQ_AWAY: 'no broker answered in time',
  KQ_REGISTRY: 'the schema registry cannot be reached, refuses, or lacks a schema to push by',
  KQ_GROUP_BUSY: 'the group has members, so its offsets cannot be set',
  KQ_CODEC: 'the package that reads or writes this compression is not installed',
  KQ_TRANSACTION: 'the transaction cannot go on, and stores nothing',
  KQ_FULL: 'too much waits to be stored',
  KQ_CLOSED: 'it is closed',
  KQ_TIMEOUT: 'the handler took longer than its `timeout`',
} as const;

/** What an error is about. */
export type KqErrorCode = keyof typeof CODES;

/** Every code there is; the documentation is checked against it. */
export const KQ_ERROR_CODES = Object.keys(CODES) as readonly KqErrorCode[];

/** What a `KqError` says beside its code and message; the fields are the error's own. */
export interface KqErrorDetails {
  /** What was underneath, such as the error of a broker. @default none */
  cause?: unknown;
  /** Whether the message may be stored. @default false */
  indeterminate?: boolean;
  /** What the topic's schema finds wrong. @default none */
  issues?: readonly PayloadIssue[];
}

/** The one error class of this library. Match on `code`; the message is for people. */
export class KqError extends Error {
  /** What it is about; the message begins with it. */
  readonly code: KqErrorCode;
  /** True: the message may be stored although the call failed; do not push it again blindly. */
  readonly indeterminate: boolean;
  /** What the topic's schema finds wrong, where it was asked. */
  declare readonly issues?: readonly PayloadIssue[];

  constructor(code: KqErrorCode, message: string, details: KqErrorDetails = {}) {
    super(`${code}: ${message}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'KqError';
    this.code = code;
    this.indeterminate = details.indeterminate ?? false;
    if (details.issues) this.issues = details.issues;
  }
}

/** The error of a value that is wrong, which says what was expected. */
export function wrongValue(code: KqErrorCode, what: string, value: unknown, expected: string): KqError {
  return new KqError(code, `${what} is ${show(value)}: expected ${expected}`);
}

/** The error of a name that does not exist, such as an option's, with the names that do. */
export function unknownName(code: KqErrorCode, what: string, known: Iterable<string>): KqError {
  return new KqError(code, `there is no ${what}: expected one of ${[...known].join(', ')}`);
}

/** What an error says behind its code. */
export function factOf({ code, message }: KqError): string {
  return message.slice(code.length + 2);
}

/** A value as an error message shows it: one short line. */
export function show(value: unknown): string {
  const text = inspect(value, {
    depth: 2,
    breakLength: Infinity,
    compact: true,
    maxArrayLength: 10,
    maxStringLength: 100,
    customInspect: Buffer.isBuffer(value), // those of others may throw
  });
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** What was thrown, which may be anything, as an Error made of texts: one of another realm is one, too. Never throws. */
export function toError(thrown: unknown): Error {
  try {
    if (!(thrown instanceof Error || types.isNativeError(thrown)))
      return new Error(`a value that is no Error was thrown: ${show(thrown)}`);
    const { name, message, stack = '' } = thrown;
    if ([name, message, stack].every((part) => typeof part === 'string')) return thrown;
    return new Error(`an Error that is not made of texts was thrown: ${show({ name, message })}`);
  } catch {
    return new Error('a value that cannot be read was thrown'); // a getter or a proxy's trap threw
  }
}
