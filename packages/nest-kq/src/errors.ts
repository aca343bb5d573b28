/** What each code means, and whose turn it is. */
const CODES = {
  KQ_CONFIG: 'the configuration is wrong',
  KQ_BAD_MESSAGE: 'the message cannot be stored as it is',
  KQ_UNKNOWN_TOPIC: 'there is no topic of this name',
  KQ_TOO_LARGE: 'the message is larger than its topic takes',
  KQ_REFUSED: 'the brokers refuse: wrong credentials, or a missing right',
  KQ_AWAY: 'no broker answered in time',
  KQ_GROUP_BUSY: 'the group has members, so its offsets cannot be set',
  KQ_CODEC: 'the package that reads or writes this compression is not installed',
  KQ_TRANSACTION: 'the transaction cannot go on, and stores nothing',
  KQ_FULL: 'too much waits to be stored',
  KQ_CLOSED: 'it is closed',
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
}

/** The one error class of this library. Match on `code`; the message is for people. */
export class KqError extends Error {
  /** What it is about; the message begins with it. */
  readonly code: KqErrorCode;
  /** True: the message may be stored although the call failed; do not push it again blindly. */
  readonly indeterminate: boolean;

  constructor(code: KqErrorCode, message: string, details: KqErrorDetails = {}) {
    super(`${code}: ${message}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'KqError';
    this.code = code;
    this.indeterminate = details.indeterminate ?? false;
  }
}

/** What was thrown, as an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
