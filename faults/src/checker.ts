// Compares what was asked of the library with what its handlers did. It knows only the outside log.
import type { History, JobHistory, Run } from './history.js';
import type { Schedule } from './log.js';

export interface Findings {
  /** The number of jobs that were stored. */
  readonly jobs: number;
  /** Jobs that were stored, were neither revoked nor doomed, and never succeeded. */
  readonly lost: readonly number[];
  /** Runs that started before they were due. */
  readonly early: readonly Run[];
  /** Each successful run of a schedule after its first. */
  readonly duplicates: readonly Run[];
  /** Runs that started after a revoke was answered `revoked`, or after the run for which it was answered `running`. */
  readonly ranAfterRevoke: readonly Run[];
  /** Runs of a schedule that started after a newer schedule was confirmed. */
  readonly wrongGeneration: readonly Run[];
  /** Runs of a schedule that nobody asked for, or whose add certainly failed. */
  readonly strays: readonly Run[];
  /** Runs with the fence of another run of the job. */
  readonly sameFence: readonly Run[];
  /** Runs that started after a run of the job with a greater fence. A database that checks fences refuses their writes. */
  readonly staleStarts: readonly Run[];
  /** Milliseconds from the due time of a schedule, or from its answer if that came later, to its first start. NaN: no start. */
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

/** Whether the job still has to run. An experiment waits for these jobs; those that remain at its end are lost. */
export function isLost({ schedules, revocations, runs }: JobHistory): boolean {
  const last = schedules.findLast(({ answer }) => answer === 'stored');
  if (!last || last.doomed) return false;
  // After any answer but `done`, the job need not run any more. A revoke before the last schedule does not count.
  if (revocations.some(({ at, answer }) => at >= last.askedAt && answer !== 'done')) return false;
  // A later schedule whose add was unsure may have replaced it.
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

/** The schedules that this run may belong to: the last one confirmed before it, and later ones without an answer so far. */
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
    // The start of the run that the answer means may be written a little after the answer.
    return revocation.answer === 'running' && runs.some((other) => other !== run && other.at < run.at);
  });
}
