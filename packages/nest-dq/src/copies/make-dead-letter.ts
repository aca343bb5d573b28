import type { StoredTube } from '../api/tube.js';
import type { Envelope } from './header.js';
import { decodePayload, encodedIn } from './payload.js';
import { DqError } from '../errors.js';
import { formatRef } from './job-ref.js';
import type { DeadLetter, FailedAttempt } from '../api/dead-letter.js';
import type { TubeCodecs } from '../api/payload-codec.js';
import type { Seal } from '../seal/seal.js';
import type { FailedRun, Letter } from '../ledger/requests.js';

/** The ledger's letter, and a copy of its job: only the copy has the payload and the key. */
interface LetterParts {
  /** Tube name without the prefix. */
  readonly tube: string;
  readonly storedAs: StoredTube;
  readonly letter: Letter;
  /** Undefined while no copy is reachable. */
  readonly copy: Envelope | undefined;
  /** Name of the missing key that would open its copies. @default none */
  readonly missingKey?: string | undefined;
  /** The cluster's seal, if any. */
  readonly seal: Seal | undefined;
  /** The codecs of the tube, if known. */
  readonly codecs?: TubeCodecs | undefined;
}

/** Builds a letter as users see it. */
export function makeDeadLetter({
  tube,
  storedAs,
  letter,
  copy,
  missingKey,
  seal,
  codecs,
}: LetterParts): DeadLetter {
  const { id, born, due, attempt, died, why, error, places, failures } = letter;
  const key = copy?.header.key;
  const copies = copy?.header.copies ?? places.length;
  return {
    id,
    ref: formatRef({ tube: storedAs, id, key, born, due, copies, places }, seal),
    tube,
    ...(key === undefined ? {} : { key }),
    ...(copy ? payloadOf(copy, codecs) : {}),
    ...(missingKey === undefined ? {} : { missingKey }),
    dueAt: new Date(due),
    diedAt: new Date(died),
    attempt,
    why,
    ...(error ? { error } : {}),
    ...(failures && { failedAttempts: failures.map(failedAttempt) }),
  };
}

/** Returns a failed run as users see it. */
export function failedAttempt({
  attempt,
  startedAt,
  took,
  process,
  name,
  message,
}: FailedRun): FailedAttempt {
  return { attempt, startedAt: new Date(startedAt), took, process, error: { name, message } };
}

function payloadOf(
  { content }: Envelope,
  codecs: TubeCodecs | undefined,
): Pick<DeadLetter, 'payload' | 'encoded'> {
  try {
    return { payload: decodePayload(content, codecs) };
  } catch (error) {
    if (!(error instanceof DqError)) throw error;
    const encoded = encodedIn(content);
    return encoded ? { encoded } : {}; // that is why it is dead
  }
}
