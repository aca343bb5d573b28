import { DqError, toError, type DqErrorCode } from '../errors.js';
import type { ErrorWire } from './wire.js';

/** A request refused by the dashboard itself. */
export class Refusal extends Error {
  constructor(
    /** The HTTP status. */
    readonly status: number,
    readonly code:
      | 'NOT_ALLOWED'
      | 'CROSS_SITE'
      | 'NOT_FOUND'
      | 'NOT_BUILT'
      | 'NO_BODY'
      | 'TOO_LARGE'
      | 'NODES_AWAY'
      | 'INTERNAL',
    message: string,
  ) {
    super(message);
  }
}

/** The status of errors that the viewer or time can fix; 500 for all others. */
const STATUS: { readonly [Code in DqErrorCode]?: number } = {
  DQ_BAD_TUBE: 400,
  DQ_BAD_PAYLOAD: 400,
  DQ_BAD_DURATION: 400,
  DQ_BAD_TIME: 400,
  DQ_BAD_OPTION: 400,
  DQ_BAD_REF: 400,
  DQ_PAST_TIME: 400,
  DQ_TOO_FAR: 400,
  DQ_CONFIG: 409,
  DQ_DUPLICATE: 409,
  DQ_CONFLICT: 409,
  DQ_BAD_SEAL: 503,
  DQ_UNCONFIRMED: 503,
  DQ_NO_COPY: 503,
  DQ_TOO_FEW_COPIES: 503,
  DQ_OVERLOADED: 503,
  DQ_LEDGER_DOWN: 503,
  DQ_CLOSED: 503,
};

/** The status of errors of nest-kq. */
const KAFKA_STATUS: Readonly<Record<string, number>> = {
  KQ_BAD_OPTION: 400,
  KQ_BAD_TOPIC: 400,
  KQ_UNKNOWN_TOPIC: 404,
  KQ_REFUSED: 503,
  KQ_AWAY: 503,
  KQ_CLOSED: 503,
};

/** Returns how an error is answered. The viewer gets no details of one that is neither ours nor theirs: `internal` is for the log. */
export function failureOf(thrown: unknown): { status: number; error: ErrorWire; internal?: Error } {
  if (thrown instanceof Refusal) {
    const { status, code, message } = thrown;
    return { status, error: { code, message } };
  }
  if (thrown instanceof DqError) return { status: STATUS[thrown.code] ?? 500, error: errorWire(thrown) };
  const kafka = kafkaCode(thrown);
  if (kafka !== undefined) return { status: KAFKA_STATUS[kafka] ?? 500, error: errorWire(toError(thrown)) };
  const error = { code: 'INTERNAL', message: 'internal error; the server log has the details' };
  return { status: 500, error, internal: toError(thrown) };
}

/** An error that viewers may see. */
export function errorWire(error: Error): ErrorWire {
  const code = error instanceof DqError ? error.code : kafkaCode(error);
  return { code: code ?? error.name, message: error.message };
}

/** The code of an error of nest-kq, whose class this package doesn't have. */
function kafkaCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || thrown.name !== 'KqError' || !('code' in thrown)) return undefined;
  return String(thrown.code);
}
