import type { PayloadIssue } from 'nest-handlers/schema';
import { inspect, types } from 'node:util';

/** Codes and their meanings. */
const CODES = {
  KQ_CONFIG: 'the configuration is wrong',
  KQ_BAD_TOPIC: 'not a valid topic name',
  KQ_BAD_OPTION: 'an option of a topic or a handler is wrong',
  KQ_BAD_MESSAGE: "the message cannot be stored or read, or its topic's schema refuses it",
  KQ_UNKNOWN_TOPIC: 'no topic has this name',
  KQ_TOO_LARGE: 'the message is larger than its topic allows',
  KQ_REFUSED: 'the brokers refuse: wrong credentials or a missing permission',
  KQ_AWAY: 'no broker answered in time',
  KQ_REGISTRY: 'the schema registry is down, refuses, or has no schema to push with',
  KQ_GROUP_BUSY: 'the group has members, so its offsets cannot be set',
  KQ_CODEC: 'the package that reads or writes this compression is not installed',
  KQ_TRANSACTION: 'the transaction cannot continue and stores nothing',
  KQ_FULL: 'too many messages are waiting to be stored',
  KQ_CLOSED: 'already closed',
  KQ_TIMEOUT: 'the handler exceeded its `timeout`',
} as const;

/** The code of an error. */
export type KqErrorCode = keyof typeof CODES;

/** All codes; the documentation is checked against them. */
export const KQ_ERROR_CODES = Object.keys(CODES) as readonly KqErrorCode[];

/** Fields of a `KqError` in addition to its code and message. */
export interface KqErrorDetails {
  /** The underlying error, such as a broker's. @default none */
  cause?: unknown;
  /** Whether the message may be stored. @default false */
  indeterminate?: boolean;
  /** Issues found by the topic's schema. @default none */
  issues?: readonly PayloadIssue[];
}

/** The one error class of this library. Match on `code`; the message is for people. */
export class KqError extends Error {
  /** Stable code; the message starts with it. */
  readonly code: KqErrorCode;
  /** True if the message may be stored although the call failed; don't blindly push it again. */
  readonly indeterminate: boolean;
  /** Issues found by the topic's schema, if it was asked. */
  declare readonly issues?: readonly PayloadIssue[];

  constructor(code: KqErrorCode, message: string, details: KqErrorDetails = {}) {
    super(`${code}: ${message}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'KqError';
    this.code = code;
    this.indeterminate = details.indeterminate ?? false;
    if (details.issues) this.issues = details.issues;
  }
}

/** Returns an error about a wrong value that says what was expected. */
export function wrongValue(code: KqErrorCode, what: string, value: unknown, expected: string): KqError {
  return new KqError(code, `${what} is ${show(value)}: expected ${expected}`);
}

/** Returns an error about an unknown name, such as an option's, with the known ones. */
export function unknownName(code: KqErrorCode, what: string, known: Iterable<string>): KqError {
  return new KqError(code, `there is no ${what}: expected one of ${[...known].join(', ')}`);
}

/** Returns an error's message without its code. */
export function factOf({ code, message }: KqError): string {
  return message.slice(code.length + 2);
}

/** Formats a value for an error message: one short line. */
export function show(value: unknown): string {
  const text = inspect(value, {
    depth: 2,
    breakLength: Infinity,
    compact: true,
    maxArrayLength: 10,
    maxStringLength: 100,
    customInspect: Buffer.isBuffer(value), // foreign ones may throw
  });
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/**
 * Returns what was thrown if it is an Error with string fields, of any realm, and an Error that shows it otherwise. Never
 * throws.
 */
export function toError(thrown: unknown): Error {
  try {
    if (!(thrown instanceof Error || types.isNativeError(thrown)))
      return new Error(`a non-Error value was thrown: ${show(thrown)}`);
    const { name, message, stack = '' } = thrown;
    if ([name, message, stack].every((part) => typeof part === 'string')) return thrown;
    return new Error(`an Error with non-string fields was thrown: ${show({ name, message })}`);
  } catch {
    return new Error('an unreadable value was thrown'); // a getter or proxy trap threw
  }
}
