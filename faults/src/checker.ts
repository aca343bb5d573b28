// Compares what went in with what came out. Knows nothing of the library but what was asked of it and what it answered.
import type { History, JobHistory, Run } from './history.js';
import type { Schedule } from './log.js';

export interface Findings {
  /** How many were stored. */
  readonly jobs: number;
  /** Stored, neither revoked nor doomed, and never succeeded. */
  readonly lost: readonly number[];
  /** Started before they were due. */
  readonly early: readonly Run[];
  /** Each successful run of a schedule after its first. */
  readonly duplicates: readonly Run[];
  /** Started after a revoke was answered `revoked`, or after the run that a revoke was answered `running` for. */
  readonly ranAfterRevoke: readonly Run[];
  /** Started for a schedule after a newer one was confirmed. */
  readonly wrongGeneration: readonly Run[];
  /** Started for a schedule that was never asked for, or whose add failed for certain. */
  readonly strays: readonly Run[];
  /** Had the fence of another run of the job. */
  readonly sameFence: readonly Run[];
  /** Started after a run of the job with a greater fence: a store that keeps the fence refuses it. */
  readonly staleStarts: readonly Run[];
  /** Milliseconds from when a schedule was due, or stored if that came later, to its first start. NaN: none started. */
  readonly worstLateness: number;
  readonly latenessP99: number;
}

type Lists = { [K in keyof Findings as Findings[K] extends readonly Run[] ? K : never]: Run[] };

export function check(history: History): Findings {
  const lists: Lists = {
    early: [],
    duplicates: [],
    ranAfterRevoke: [],
    wrongGeneration: [],
    strays: [],
    sameFence: [],
    staleStarts: [],
  };
  const lost: number[] = [];
  const lateness: number[] = [];
  let jobs = 0;
  for (const job of history.all()) {
    if (job.schedules.some(({ answer }) => answer === 'stored')) jobs++;
    if (isLost(job)) lost.push(job.job);
    checkRuns(job, lists, lateness);
  }
  lateness.sort((a, b) => a - b);
  return {
    jobs,
    lost,
    ...lists,
    worstLateness: lateness.at(-1) ?? NaN,
    latenessP99: lateness[Math.floor(lateness.length * 0.99)] ?? NaN,
  };
}

/** It still has to run: what an experiment waits for, and what is lost when nobody does it. */
export function isLost({ schedules, revocations, runs }: JobHistory): boolean {
  const last = schedules.findLast(({ answer }) => answer === 'stored');
  if (!last || last.doomed) return false;
  // Whatever a revoke was answered, nobody may rely on a run that has not ended; of one before the add this is not said.
  if (revocations.some(({ at, answer }) => at >= last.askedAt && answer !== 'done')) return false;
  // A later schedule whose fate is open may have taken its place.
  return !runs.some(({ generation, end }) => end?.how === 'done' && generation >= last.generation);
}

function checkRuns(job: JobHistory, lists: Lists, lateness: number[]): void {
  const started = new Set<number>();
  const succeeded = new Set<number>();
  const fences = new Set<number>();
  let fence = -Infinity;
  for (const run of job.runs) {
    if (fences.has(run.fence)) lists.sameFence.push(run);
    else if (run.fence < fence) lists.staleStarts.push(run);
    fences.add(run.fence);
    fence = Math.max(fence, run.fence);
    if (wasRevoked(job, run)) lists.ranAfterRevoke.push(run);
    const possible = schedulesOf(job, run);
    if (possible.length === 0) {
      lists.strays.push(run);
      continue;
    }
    if (wasReplaced(job, run)) lists.wrongGeneration.push(run);
    if (run.at < Math.min(...possible.map(({ due }) => due))) lists.early.push(run);
    if (!started.has(run.generation)) {
      started.add(run.generation);
      const { due, at } = possible.at(-1)!;
      lateness.push(Math.max(0, run.at - Math.max(due, at)));
    }
    if (run.end?.how !== 'done') continue;
    if (succeeded.has(run.generation)) lists.duplicates.push(run);
    succeeded.add(run.generation);
  }
}

/** The schedules that this run may be for: the last one confirmed by then, and those whose answer was not there yet. */
function schedulesOf({ schedules }: JobHistory, run: Run): Schedule[] {
  const asked = schedules.filter(
    ({ generation, answer, askedAt }) =>
      generation === run.generation && answer !== 'refused' && askedAt <= run.at,
  );
  const confirmed = asked.findLastIndex(({ answer, at }) => answer === 'stored' && at < run.at);
  return asked.slice(Math.max(0, confirmed));
}

function wasReplaced({ schedules }: JobHistory, run: Run): boolean {
  return schedules.some(
    ({ generation, answer, at }) => generation > run.generation && answer === 'stored' && at < run.at,
  );
}

function wasRevoked({ schedules, revocations, runs }: JobHistory, run: Run): boolean {
  const { askedAt } = schedules.find(({ generation }) => generation === run.generation) ?? {
    askedAt: -Infinity,
  };
  return revocations.some((revocation) => {
    if (revocation.at >= run.at || revocation.askedAt < askedAt) return false;
    if (revocation.answer === 'revoked') return true;
    // The start of the very run it speaks of may be written a little after the answer.
    return revocation.answer === 'running' && runs.some((other) => other !== run && other.at < run.at);
  });
}
