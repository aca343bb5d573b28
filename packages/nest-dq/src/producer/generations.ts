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
import { AHEAD_MS, YOUNG_MS } from '../ledger/ledger.js';
import type { CommitAnswer, CommitRequest, OpenAnswer, OpenRequest, Schedule } from '../ledger/requests.js';
import type { Clock } from 'nest-handlers/time';
import type { ProducerContext } from './producer-context.js';

/** Min tries of a commit, or of a call that loses to concurrent ones, before giving up. */
const LEAST_TRIES = 3;
/** Min interval between tries, in ms. It gives a lost connection time to come back: without a connection, calls fail immediately. */
const ASKED_EVERY = 500;

/** Endings of the error for too few copies: if nothing has changed, and if something may have. */
export const NOTHING_RUNS = 'the job will not run';
export const MAY_RUN = 'the job may still run';

/** Awaits a ledger call made before anything is stored. If it gets no answer, nothing is or will be stored. */
export function beforeStoring<T>(call: Promise<T>, outcome = 'nothing was stored'): Promise<T> {
  return call.catch((cause: unknown) => {
    if (!isDown(cause)) throw cause;
    throw new DqError('DQ_LEDGER_DOWN', `${outcome}: ${factOf(cause)}`, { cause });
  });
}

/** Like `beforeStoring`, for a query that changes nothing. */
export function look<T>(call: Promise<T>): Promise<T> {
  return beforeStoring(call, 'nothing is known');
}

/** The next generation of a job. */
export interface NextGeneration {
  readonly tube: StoredTube;
  readonly id: string;
  readonly opening: CommitRequest['opening'];
  /** The generation being replaced; undefined for an add. */
  readonly known?: OpenRequest['known'];
  /** The copies, with a placeholder for the generation number, which isn't known yet, with the same number of digits. */
  readonly envelope: WrittenJob;
  /** Clock time until which ledger calls are retried. */
  readonly until: number;
}

/** Result of `storeGeneration`. */
export type GenerationResult =
  | { readonly stored?: undefined; readonly answer: Extract<OpenAnswer, { kind: 'refused' }> }
  | {
      readonly stored: Stored;
      readonly answer: Exclude<CommitAnswer, { kind: 'forgotten' }>;
      /** The job that was waiting or running when the generation was opened. */
      readonly before: Schedule | undefined;
    };

/**
 * Opens a generation, stores its copies and commits it. If the commit is refused, the copies are deleted. `stored` is missing if
 * opening was refused. `DQ_TOO_FEW_COPIES`: it was undone, or, with `indeterminate`, may still count. `DQ_LEDGER_DOWN` with
 * `indeterminate`: it may have run; only if the ledger didn't answer may it still run. `DQ_BAD_PAYLOAD`.
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
    const [undone, doubtful] = known
      ? ['the job is unchanged', 'the job may have been moved']
      : [NOTHING_RUNS, MAY_RUN];
    throw tooFewCopies(cluster, stored, isUndone ? undone : doubtful, !isUndone);
  }
  const born = known?.born ?? generation;
  const undecidedUntil = Math.floor(firstClaim(generation, due, present));
  const request = { ...announcedGeneration(cluster, stored), id, opening, born, undecidedUntil };
  const answer = await commit(context, tube, request, until);
  if (answer.kind !== 'committed') void deleteCopies(parts, tube, { id, generation }, stored.places);
  if (answer.kind === 'forgotten') {
    const outcome = known ? 'it may have run at its new time' : 'the job may have run';
    const fact = `Redis lost its data during this call: ${outcome}, but will not run because of it from now on`;
    throw new DqError('DQ_LEDGER_DOWN', fact, { indeterminate: true });
  }
  return { stored, answer, before: present };
}

/** Returns the ledger time, in ms, before which no claim of this generation or the one it replaces is granted. */
function firstClaim(generation: number, due: number, replaced: Schedule | undefined): number {
  const own = Math.max(due, generation + YOUNG_MS);
  const first = !replaced ? own : replaced.state === 'waiting' ? Math.min(own, replaced.due) : generation;
  return first - AHEAD_MS;
}

/** Commits a stored generation. `DQ_LEDGER_DOWN` or `DQ_CLOSED`, with `indeterminate`: no copy may be deleted, because a claim decides. */
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

/** Corrects the answer to a repeated commit: an earlier try may have committed the generation, before a newer one was committed. */
function ofRepeat(answer: CommitAnswer, { generation }: CommitRequest): CommitAnswer {
  if (answer.kind !== 'refused' || answer.why !== 'changed') return answer;
  const { present } = answer;
  return present && present.generation > generation ? { ...answer, why: 'overtaken' } : answer;
}

/** Undoes an opened generation and deletes its copies. Resolves with true if nothing of it ran or can run. */
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
  const young = context.now(tube) - generation < YOUNG_MS;
  return answer === 'aborted' || (deleted && young) || places.length === 0;
}

/**
 * While the ledger is down, repeats an idempotent call until the clock time `until`, and at least `leastTries` times. Resolves
 * with a DqError if there was no answer, or the ledger is closed.
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

/** Returns false if a call that lost to concurrent ones should be retried: until `until`, and at least three times. */
export function isEnough(tries: number, clock: Clock, until: number): boolean {
  return tries >= LEAST_TRIES && clock.now() >= until;
}

export function conflict(what: string, tries: number): DqError {
  return new DqError(
    'DQ_CONFLICT',
    `the job of ${what} was moved, replaced or run on each of ${tries} tries, so this call had no effect`,
  );
}

function isDown(error: unknown): error is DqError {
  return error instanceof DqError && error.code === 'DQ_LEDGER_DOWN';
}
