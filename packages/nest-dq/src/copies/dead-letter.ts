import { decodePayload, type Envelope } from './envelope.js';
import { DqError } from '../errors.js';
import { formatRef } from './job-ref.js';
import type { JobRefText } from '../api/job.js';
import type { Letter } from '../ledger/requests.js';

/** A job that will not run any more, until it is revived. */
export interface DeadLetter<P = unknown> {
  /** A ULID, or made from tube and key. */
  readonly id: string;
  /** Finds this very letter, also when its key has a newer job. */
  readonly ref: JobRefText;
  /** Without the prefix. */
  readonly tube: string;
  /** Absent for a plain job, and while no copy is in reach. */
  readonly key?: string;
  /** Absent while no copy is in reach, and when it cannot be read. */
  readonly payload?: P;
  /** When its last run was due. */
  readonly dueAt: Date;
  /** By the clock of the ledger. */
  readonly diedAt: Date;
  /** Runs begun. */
  readonly attempt: number;
  /**
   * `attempts`: used up. `discarded`: by its handler. `invalid`: the payload cannot be read. `stale`: nothing is known of
   * it, and it is overdue by more than `staleAfter`: a copy from a node that was away, done long ago or never run.
   */
  readonly why: 'attempts' | 'discarded' | 'invalid' | 'stale';
  /** What the last run threw, with the first lines of its stack; absent when a crash used up the last attempt. */
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
}

/** What the ledger knows of a letter, and a copy of it: only there are the payload and the key. */
export interface LetterParts {
  /** Without the prefix. */
  readonly tube: string;
  /** As nodes and ledger know it. */
  readonly storedAs: string;
  readonly letter: Letter;
  /** Undefined while none is in reach. */
  readonly copy: Envelope | undefined;
}

/** A letter as users see it. */
export function deadLetter({ tube, storedAs, letter, copy }: LetterParts): DeadLetter {
  const { id, born, due, attempt, died, why, error, places } = letter;
  const key = copy?.header.key;
  const copies = copy?.header.copies ?? places.length;
  return {
    id,
    ref: formatRef({ tube: storedAs, id, key, born, due, copies, places }),
    tube,
    ...(key === undefined ? {} : { key }),
    ...(copy ? payloadOf(copy) : {}),
    dueAt: new Date(due),
    diedAt: new Date(died),
    attempt,
    why,
    ...(error ? { error } : {}),
  };
}

function payloadOf({ content }: Envelope): { payload?: unknown } {
  try {
    return { payload: decodePayload(content) };
  } catch (error) {
    if (error instanceof DqError) return {}; // that is why it is dead
    throw error;
  }
}
