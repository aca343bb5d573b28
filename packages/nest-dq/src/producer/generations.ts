import { deleteCopies } from '../copies/deletion.js';
import type { WrittenJob } from '../copies/header.js';
import {
  announcedBy,
  announcedGeneration,
  refuseTooLarge,
  storeCopies,
  tooFewCopies,
  type Stored,
} from '../copies/storing.js';
import type { StoredTube } from '../api/tube.js';
import { DqError, factOf } from '../errors.js';
import { AHEAD, YOUNG } from '../ledger/ledger.js';
import type { CommitAnswer, CommitRequest, OpenAnswer, OpenRequest, Schedule } from '../ledger/requests.js';
import type { Clock } from 'nest-handlers/time';
import type { ProducerContext } from './producer-context.js';

/** A commit, and a call that others come in between of, is tried so often at least before it is given up. */
const LEAST_TRIES = 3;
/** Milliseconds. A lost connection may come back in this time: without one, calls fail at once. */
const ASKED_EVERY = 500;

/** How the error for too few copies ends: when all is as it was before, and when it may not be. */
export const NOTHING_RUNS = 'nothing of it will run';
export const MAY_RUN = 'it may still run';

/** The answer to a call that comes before anything is stored. Without an answer, nothing is stored and nothing will be. */
export function beforeStoring<T>(call: Promise<T>, outcome = 'nothing was stored'): Promise<T> {
  return call.catch((cause: unknown) => {
    if (!isDown(cause)) throw cause;
    throw new DqError('DQ_LEDGER_DOWN', `${outcome}: ${factOf(cause)}`, { cause });
  });
}

/** The same for a question that changes nothing. */
export function look<T>(call: Promise<T>): Promise<T> {
  return beforeStoring(call, 'nothing is known');
}

/** The next generation of a job that the ledger knows. */
export interface NextGeneration {
  readonly tube: StoredTube;
  readonly id: string;
  readonly opening: CommitRequest['opening'];
  /** The generation that gives way; undefined for an add. */
  readonly known?: OpenRequest['known'];
  /** The copies, but for the number of the generation: this one has as many digits. */
  readonly envelope: WrittenJob;
  /** By the clock: until then a call to the ledger is repeated. */
  readonly until: number;
}

/** What became of it. */
export type GenerationResult =
  | { readonly stored?: undefined; readonly answer: Extract<OpenAnswer, { kind: 'refused' }> }
  | {
      readonly stored: Stored;
      readonly answer: Exclude<CommitAnswer, { kind: 'forgotten' }>;
      /** The job that waited or ran when it was opened. */
      readonly before: Schedule | undefined;
    };

/**
 * Opens a generation, stores its copies, and commits it. The copies of one that the commit refuses are deleted. `stored` is
 * missing when the opening was refused. `DQ_TOO_FEW_COPIES`: it was taken back, or, with `indeterminate`, it may still count.
 * `DQ_LEDGER_DOWN` with `indeterminate`: it may have run, and may still run only where the ledger gave no answer.
 * `DQ_BAD_PAYLOAD`.
 */
export async function storeGeneration(
  context: ProducerContext,
  { tube, id, opening, known, envelope, until }: NextGeneration,
): Promise<GenerationResult> {
  const { batched, parts } = context;
  const { cluster, ledger, settings } = parts;
  const { due, copies } = envelope.job;
  refuseTooLarge(cluster, envelope);
  const announced = announcedBy(cluster);
  const opened = await beforeStoring(batched.ask(tube, 'open', { id, opening, due, announced, known }));
  if (opened.kind === 'refused') return { answer: opened };
  const { generation, present } = opened;
  const stored = await storeCopies(cluster, {
    tube,
    envelope: envelope.with(copies, generation),
    backupDelay: settings.backupDelay,
    ledger: ledger.tube(tube),
  });
  if (!stored.enough) {
    const isUndone = await abortAndDelete(context, tube, id, stored, until);
    const [undone, doubtful] = known ? ['it stays as it was', 'it may be moved'] : [NOTHING_RUNS, MAY_RUN];
    throw tooFewCopies(cluster, stored, isUndone ? undone : doubtful, !isUndone);
  }
  const born = known?.born ?? generation;
  const undecidedUntil = Math.floor(firstClaim(generation, due, present));
  const request = { ...announcedGeneration(cluster, stored), id, opening, born, undecidedUntil };
  const answer = await commit(context, tube, request, until);
  if (answer.kind !== 'committed') void deleteCopies(parts, tube, { id, generation }, stored.places);
  if (answer.kind === 'forgotten') {
    const outcome = known ? 'it may have run at its new time' : 'the job may have run';
    const fact = `Redis lost its data in the middle of this call: ${outcome}, and will not run because of it from now on`;
    throw new DqError('DQ_LEDGER_DOWN', fact, { indeterminate: true });
  }
  return { stored, answer, before: present };
}

/** Ledger time, ms: no claim of this generation, or of the one that it replaces, is granted before. */
function firstClaim(generation: number, due: number, replaced: Schedule | undefined): number {
  const own = Math.max(due, generation + YOUNG);
  const first = !replaced ? own : replaced.state === 'waiting' ? Math.min(own, replaced.due) : generation;
  return first - AHEAD;
}

/**
 * Commits a stored generation. `DQ_LEDGER_DOWN` or `DQ_CLOSED`, with `indeterminate`: no copy may be deleted, because a
 * claim decides.
 */
async function commit(
  { batched, parts }: ProducerContext,
  tube: StoredTube,
  request: CommitRequest,
  until: number,
): Promise<CommitAnswer> {
  let tries = 0;
  const ask = () => {
    tries++;
    return batched.ask(tube, 'commit', request);
  };
  const answer = await insist(parts.clock, until, ask, LEAST_TRIES);
  if (answer instanceof DqError) {
    const message = `its copies are stored, but it is unknown whether they count: ${factOf(answer)}`;
    throw new DqError(answer.code, message, { cause: answer, indeterminate: true });
  }
  return tries > 1 ? ofRepeat(answer, request) : answer;
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
  const { batched, parts } = context;
  const { generation, places } = stored;
  const request = { ...announcedGeneration(parts.cluster, stored), id };
  const answer = await insist(parts.clock, until, () => batched.ask(tube, 'abort', request));
  if (answer === 'started') return false;
  const deleted = await deleteCopies(parts, tube, { id, generation }, places);
  // A deleted copy may have run before, if a claim adopted the generation.
  const young = context.now(tube) - generation < YOUNG;
  return answer === 'aborted' || (deleted && young) || places.length === 0;
}

/**
 * The answer to a call that may be repeated without harm. While the ledger is down, it asks `until` then, by the clock, and
 * so often at least. A DqError: it got no answer, or the ledger is closed.
 */
export function insist<T>(
  clock: Clock,
  until: number,
  call: () => Promise<T>,
  leastTries = 1,
): Promise<T | DqError> {
  return call().catch(async (error: unknown) => {
    if (!(error instanceof DqError)) throw error;
    if (!isDown(error) || (leastTries <= 1 && clock.now() >= until)) return error;
    await new Promise<void>((resolve) => clock.after(ASKED_EVERY, resolve));
    return insist(clock, until, call, leastTries - 1);
  });
}

/** False: others came in between, and the call should be tried again: three times at least, and `until` then. */
export function isEnough(tries: number, clock: Clock, until: number): boolean {
  return tries >= LEAST_TRIES && clock.now() >= until;
}

export function conflict(what: string, tries: number): DqError {
  return new DqError(
    'DQ_CONFLICT',
    `the job of ${what} was moved, replaced or run in each of ${tries} tries, so nothing came of this call`,
  );
}

function isDown(error: unknown): error is DqError {
  return error instanceof DqError && error.code === 'DQ_LEDGER_DOWN';
}
