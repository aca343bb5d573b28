import type { Cluster } from '../cluster/cluster.js';
import { deleteCopies } from '../copy-deletion.js';
import type { Stored } from '../copy-storing.js';
import { DqError, factOf } from '../errors.js';
import { YOUNG, type CommitAnswer, type CommitRequest, type TubeLedger } from '../ledger/ledger.js';
import type { SettleQueue } from '../ledger/settle-queue.js';
import type { Clock } from '../time.js';
import type { BatchedTube } from './batched-ledger.js';

/** How often a commit is asked before its outcome is left open. */
const COMMIT_TRIES = 3;
/** Milliseconds. Time for a lost connection to come back: while there is none, calls fail at once. */
const COMMIT_PAUSE = 500;

/** The answer to what is asked before anything is stored: without one, nothing is and nothing will be. */
export async function ask<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    if (!isDown(cause)) throw cause;
    throw new DqError('DQ_LEDGER_DOWN', `nothing was stored: ${factOf(cause)}`, { cause });
  }
}

/**
 * Commits a stored generation. `DQ_LEDGER_DOWN`, or `DQ_CLOSED`, with `indeterminate`: nothing may be deleted, for a
 * claim decides.
 */
export async function commit(
  ledger: BatchedTube,
  clock: Clock,
  request: CommitRequest,
): Promise<CommitAnswer> {
  for (let tries = 1; ; tries++) {
    try {
      const answer = await ledger.commit(request);
      return tries > 1 ? ofRepeat(answer, request) : answer;
    } catch (cause) {
      if (!(cause instanceof DqError)) throw cause;
      if (tries === COMMIT_TRIES || !isDown(cause)) {
        const message = `its copies are stored, but it is open whether they count: ${factOf(cause)}`;
        throw new DqError(cause.code, message, { cause, indeterminate: true });
      }
    }
    await new Promise<void>((resolve) => clock.after(COMMIT_PAUSE, resolve));
  }
}

/** An earlier call may have committed it, before a newer generation was committed. */
function ofRepeat(answer: CommitAnswer, { generation }: CommitRequest): CommitAnswer {
  if (answer.kind !== 'refused' || answer.why !== 'changed') return answer;
  const { present } = answer;
  return present && present.generation > generation ? { ...answer, why: 'overtaken' } : answer;
}

/** Takes an opened generation back, and deletes what was stored of it; true when nothing of it ran, nor can run. */
export async function abortAndDelete(
  cluster: Cluster,
  settleQueue: SettleQueue,
  ledger: TubeLedger,
  tube: string,
  id: string,
  stored: Stored,
): Promise<boolean> {
  const answer = await answered(ledger.abort([{ ...stored, id }]));
  if (answer === 'started') return false;
  const { generation, places } = stored;
  const deleted = await deleteCopies(cluster, settleQueue, tube, { id, generation }, places);
  // Deleted copies can have run before, if a claim took the generation for the job.
  const young = ledger.now() - generation < YOUNG;
  return answer === 'aborted' || (deleted && young) || places.length === 0;
}

/** The answer of a call about one job; undefined when the ledger is down or closed, which the caller's own error tells. */
export async function answered<T>(call: Promise<T[]>): Promise<T | undefined> {
  try {
    const [answer] = await call;
    return answer;
  } catch (error) {
    if (error instanceof DqError) return undefined;
    throw error;
  }
}

function isDown(error: unknown): error is DqError {
  return error instanceof DqError && error.code === 'DQ_LEDGER_DOWN';
}
