import { deleteCopies } from '../copies/deletion.js';
import type { JobEnvelope } from '../copies/formats/dq1.js';
import { announcedBy, refuseTooLarge, tooFewCopies, type Stored } from '../copies/storing.js';
import type { StoredTube } from '../api/tube.js';
import { DqError, factOf } from '../errors.js';
import { YOUNG } from '../ledger/ledger.js';
import type { CommitAnswer, CommitRequest, OpenAnswer, OpenRequest } from '../ledger/requests.js';
import type { Clock } from '../time/clock.js';
import type { BatchedTube } from './batched-ledger.js';
import type { ProducerContext } from './producer-context.js';

/** A commit, and a call that others come in between of, is tried so often at least before it is given up. */
const LEAST_TRIES = 3;
/** Milliseconds. A lost connection may come back in this time: without one, calls fail at once. */
const ASKED_EVERY = 500;

/** The answer to a call that comes before anything is stored. Without an answer, nothing is stored and nothing will be. */
export async function ask<T>(call: Promise<T>, outcome = 'nothing was stored'): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    if (!isDown(cause)) throw cause;
    throw new DqError('DQ_LEDGER_DOWN', `${outcome}: ${factOf(cause)}`, { cause });
  }
}

/** The same for a question that changes nothing. */
export function look<T>(call: Promise<T>): Promise<T> {
  return ask(call, 'nothing is known');
}

type Opened = Extract<OpenAnswer, { kind: 'opened' }>;
type Refused = Extract<OpenAnswer, { kind: 'refused' }>;

/** The next generation of a job that the ledger knows. */
export interface NextGeneration {
  readonly tube: StoredTube;
  readonly id: string;
  readonly opening: CommitRequest['opening'];
  /** The generation that gives way; undefined for an add. */
  readonly known?: OpenRequest['known'];
  /** Ledger time, ms. */
  readonly due: number;
  readonly envelopeOf: (generation: number) => JobEnvelope;
  /** By the clock: until then a call to the ledger is repeated. */
  readonly until: number;
  /** How the error for too few copies ends: when all is as it was before, and when it may not be. */
  readonly undone: string;
  readonly doubtful: string;
}

/**
 * Opens a generation, stores its copies, and commits it. `stored` is missing when the opening was refused.
 * `DQ_TOO_FEW_COPIES`: it was taken back, or, with `indeterminate`, it may still count. `DQ_BAD_PAYLOAD`.
 */
export async function storeGeneration(
  context: ProducerContext,
  { tube, id, opening, known, due, envelopeOf, until, undone, doubtful }: NextGeneration,
): Promise<
  | { readonly opened: Refused }
  | { readonly opened: Opened; readonly stored: Stored; readonly answer: CommitAnswer }
> {
  const { cluster, clock } = context;
  const ledger = context.tube(tube);
  // The number of a generation has as many digits as the due time.
  refuseTooLarge(cluster, envelopeOf(due));
  const opened = await ask(ledger.open({ id, opening, due, announced: announcedBy(cluster), known }));
  if (opened.kind === 'refused') return { opened };
  const { generation } = opened;
  const envelope = envelopeOf(generation);
  const stored = await new Promise<Stored>((resolve) => context.store(tube, envelope, resolve));
  if (!stored.enough) {
    const isUndone = await abortAndDelete(context, tube, id, stored, until);
    throw tooFewCopies(cluster, stored, isUndone ? undone : doubtful, !isUndone);
  }
  const request = { ...stored, id, born: known?.born ?? generation, opening };
  return { opened, stored, answer: await commit(ledger, clock, request, until) };
}

/**
 * Commits a stored generation. It asks `until` then, by the clock, and three times at least. `DQ_LEDGER_DOWN` or
 * `DQ_CLOSED`, with `indeterminate`: no copy may be deleted, because a claim decides.
 */
async function commit(
  ledger: BatchedTube,
  clock: Clock,
  request: CommitRequest,
  until: number,
): Promise<CommitAnswer> {
  for (let tries = 1; ; tries++) {
    try {
      const answer = await ledger.commit(request);
      return tries > 1 ? ofRepeat(answer, request) : answer;
    } catch (cause) {
      if (!(cause instanceof DqError)) throw cause;
      if (!isDown(cause) || isEnough(tries, clock, until)) {
        const message = `its copies are stored, but it is unknown whether they count: ${factOf(cause)}`;
        throw new DqError(cause.code, message, { cause, indeterminate: true });
      }
    }
    await pause(clock);
  }
}

/** An earlier call may have committed it, before a newer generation was committed. */
function ofRepeat(answer: CommitAnswer, { generation }: CommitRequest): CommitAnswer {
  if (answer.kind !== 'refused' || answer.why !== 'changed') return answer;
  const { present } = answer;
  return present && present.generation > generation ? { ...answer, why: 'overtaken' } : answer;
}

/** Takes an opened generation back, and deletes its copies. True: nothing of it ran, nor can run. */
async function abortAndDelete(
  context: ProducerContext,
  tube: StoredTube,
  id: string,
  stored: Stored,
  until: number,
): Promise<boolean> {
  const { cluster, settleQueue, clock } = context;
  const answer = await answered(clock, until, () => context.tube(tube).abort({ ...stored, id }));
  if (answer === 'started') return false;
  const { generation, places } = stored;
  const deleted = await deleteCopies(cluster, settleQueue, tube, { id, generation }, places);
  // A deleted copy may have run before, if a claim adopted the generation.
  const young = context.now(tube) - generation < YOUNG;
  return answer === 'aborted' || (deleted && young) || places.length === 0;
}

/**
 * The answer to a call that may be repeated without harm. Undefined: the ledger was down `until` then, by the clock, or it
 * is closed. The caller's own error tells that.
 */
export async function answered<T>(
  clock: Clock,
  until: number,
  call: () => Promise<T>,
): Promise<T | undefined> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof DqError)) throw error;
      if (!isDown(error) || clock.now() >= until) return undefined;
    }
    await pause(clock);
  }
}

/** False: others came in between, and the call should be tried again: three times at least, and `until` then. */
export function isEnough(tries: number, clock: Clock, until: number): boolean {
  return tries >= LEAST_TRIES && clock.now() >= until;
}

export function conflict(what: string, tries: number): DqError {
  return new DqError(
    'DQ_CONFLICT',
    `others moved or replaced the job of ${what} in each of ${tries} tries, so nothing came of this call`,
  );
}

function pause(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.after(ASKED_EVERY, resolve));
}

function isDown(error: unknown): error is DqError {
  return error instanceof DqError && error.code === 'DQ_LEDGER_DOWN';
}
