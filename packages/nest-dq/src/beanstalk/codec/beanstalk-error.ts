/** Meaning of each code; the first group are the server's own words. */
const CODES = {
  OUT_OF_MEMORY: 'the server has no memory for it',
  INTERNAL_ERROR: 'a bug in the server',
  BAD_FORMAT: 'the server could not read the command',
  UNKNOWN_COMMAND: 'the server does not know the command',
  EXPECTED_CRLF: 'the body was not as long as announced',
  JOB_TOO_BIG: 'the body is larger than the server takes',
  DRAINING: 'the server takes no new jobs',
  NOT_IGNORED: 'the only watched tube cannot be ignored',

  DEADLINE: 'no reply in time',
  CLOSED: 'the connection was closed on our side',
  CONNECTION_LOST: 'the connection ended, failed, or was given up because of another command',
  BAD_REPLY: 'not the protocol, or no reply to this command',
  BAD_ARGUMENT: 'refused here, before anything was sent',
} as const;

export type BeanstalkErrorCode = keyof typeof CODES;

/** A failed command, or the reason why a connection closed. Match on `code`. */
export class BeanstalkError extends Error {
  readonly code: BeanstalkErrorCode;
  /** True if the command was handed to the socket but got no reply, so that it may have been executed. False if it was not. */
  readonly unknown: boolean;

  constructor(
    code: BeanstalkErrorCode,
    message: string,
    { cause, unknown = false }: { cause?: unknown; unknown?: boolean } = {},
  ) {
    super(`${code}: ${message}`, cause === undefined ? undefined : { cause });
    this.name = 'BeanstalkError';
    this.code = code;
    this.unknown = unknown;
  }
}
