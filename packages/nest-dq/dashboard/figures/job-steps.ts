// The timeline of a job: its past and its next attempt, in the order of time.
import type { ExplanationWire } from '../../src/dashboard/wire.js';

type FailedWire = NonNullable<ExplanationWire['failedAttempts']>[number];

/** One entry of a job's timeline. Times are ISO strings. */
export type JobStep =
  | { readonly kind: 'added' | 'moved' | 'due' | 'expired'; readonly at?: string }
  | { readonly kind: 'revoked'; readonly at?: string; readonly by?: string; readonly aborted?: boolean }
  /** An attempt whose error the ledger kept. */
  | { readonly kind: 'failed'; readonly at: string; readonly failed: FailedWire }
  | {
      readonly kind: 'running' | 'done';
      readonly attempt: number;
      readonly at?: string;
      readonly process?: string;
      /** Time in ms, of an attempt whose end is kept. */
      readonly took?: number;
    }
  /**
   * Attempts that reported nothing, or whose errors weren't kept. `from` and `to` are the same for one. `left`: they reported
   * nothing, so their process ended or was cut off. `revoked`: the job was revoked while it ran, or errors aren't kept.
   */
  | {
      readonly kind: 'untold';
      readonly from: number;
      readonly to: number;
      readonly left?: true;
      readonly revoked?: true;
    }
  | { readonly kind: 'next'; readonly attempt: number; readonly at: string }
  | { readonly kind: 'dead'; readonly at: string };

export function jobSteps(job: ExplanationWire): JobStep[] {
  const { addedAt, movedAt, firstDueAt, dueAt, state, deadLetter } = job;
  const attempt = job.attempt ?? deadLetter?.attempt ?? 0;
  const steps: JobStep[] = [];
  if (addedAt !== undefined) steps.push({ kind: 'added', at: addedAt });
  if (movedAt !== undefined) steps.push({ kind: 'moved', at: movedAt });
  const due = firstDueAt ?? (attempt <= 1 ? dueAt : undefined); // later it's that of the last attempt
  const isRetryOnly = firstDueAt === undefined && state === 'retrying'; // its time is that of the retry
  if (due !== undefined && !isRetryOnly) steps.push({ kind: 'due', at: due });
  steps.push(...attemptsOf(job, attempt));
  if (state === 'retrying' && dueAt !== undefined)
    steps.push({ kind: 'next', attempt: attempt + 1, at: dueAt });
  if (deadLetter) steps.push({ kind: 'dead', at: deadLetter.diedAt });
  if (state === 'expired') steps.push({ kind: 'expired' });
  if (state === 'revoked') {
    const { revokedBy: act } = job;
    steps.push({ kind: 'revoked', ...(act && { at: act.at, by: act.by, aborted: act.act === 'abort' }) });
  }
  return steps;
}

/** The ledger keeps the last errors only. */
const KEPT_ERRORS = 3;

function attemptsOf(job: ExplanationWire, last: number): JobStep[] {
  const { failedAttempts = [], state, run, finished, because } = job;
  const steps: JobStep[] = [];
  const kept = failedAttempts.map((each) => each.attempt);
  const isCut = kept.length >= KEPT_ERRORS; // earlier errors may have been dropped
  const isLeft = (attempt: number) =>
    (because === 'left' && attempt === last) || (kept.length > 0 && (!isCut || attempt > Math.min(...kept)));
  const isLastTold = state === 'running' || state === 'done';
  for (let attempt = 1; attempt <= last; attempt++) {
    const failed = failedAttempts.find((each) => each.attempt === attempt);
    const before = steps.at(-1);
    if (failed) steps.push({ kind: 'failed', at: failed.startedAt, failed });
    else if (attempt === last && isLastTold)
      steps.push({
        kind: state,
        attempt,
        ...(finished && endOf(finished)),
        ...(run && { at: run.startedAt }),
        ...(run?.process && { process: `${run.process.host}:${run.process.pid}` }),
      });
    else if (attempt === last && state === 'revoked')
      steps.push({ kind: 'untold', from: attempt, to: attempt, revoked: true });
    else if (before?.kind === 'untold' && (before.left ?? false) === isLeft(attempt))
      steps[steps.length - 1] = { ...before, to: attempt };
    else steps.push({ kind: 'untold', from: attempt, to: attempt, ...(isLeft(attempt) && { left: true }) });
  }
  return steps;
}

function endOf({ endedAt, took, process }: NonNullable<ExplanationWire['finished']>) {
  return { at: new Date(Date.parse(endedAt) - took).toISOString(), took, process };
}
