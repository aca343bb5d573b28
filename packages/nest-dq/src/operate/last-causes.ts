import {
  byWeight,
  MAX_TUBES,
  type Problems,
  stopsAll,
  type TubeProblem,
  type TubeProblemCode,
  worstOf,
} from './problems.js';
import type { TubeList, TubeView } from './tube-view.js';

/** Causes that can't be judged again before processes have announced themselves. */
const OF_CONSUMERS: ReadonlySet<TubeProblemCode> = new Set(['no-consumer', 'not-reserving', 'series-missed']);

/**
 * Keeps the last known cause of a tube's problem while it can't be judged: the ledger knows the causes, the nodes what is at stake, and
 * either may not answer for a moment.
 */
export class LastCauses {
  private readonly last = new Map<string, TubeProblem & { readonly asOf: Date }>();

  /** Returns what was found, with the last causes, and their age, where the present ones can't be known. */
  look(
    found: Problems,
    {
      tubes,
      now,
      settling,
    }: { readonly tubes: TubeList | null; readonly now: number; readonly settling: boolean },
  ): Problems {
    const isDown = found.cluster.some(stopsAll);
    const views = new Map((tubes?.tubes ?? []).map((view) => [view.tube, view]));
    const isBlind = (tube: string) => {
      const view = views.get(tube);
      // A tube that no node names may be one of those that are away.
      return isDown || !tubes || (view ? isUncounted(view) : tubes.away.length > 0);
    };
    const present = new Map(found.tubes.map((problem) => [problem.tube, problem]));
    const kept: TubeProblem[] = [];
    for (const problem of this.last.values()) {
      const { tube } = problem;
      const code = present.get(tube)?.code;
      const isSettling = settling && OF_CONSUMERS.has(problem.code) && (!code || code === 'settling');
      if (!isBlind(tube) && !isSettling) this.last.delete(tube);
      else {
        kept.push(isBlind(tube) ? problem : withPresent(problem, present.get(tube)));
        present.delete(tube);
      }
    }
    const asOf = new Date(now);
    for (const { trend: _trend, caughtUpIn: _caughtUpIn, ...problem } of present.values()) {
      if (!isBlind(problem.tube) && problem.code !== 'settling')
        this.last.set(problem.tube, { ...problem, asOf });
    }
    if (kept.length === 0) return found;
    const all = [...kept, ...present.values()].toSorted(byWeight);
    const more = (found.moreTubes ?? 0) + Math.max(0, all.length - MAX_TUBES);
    const { level: _level, moreTubes: _more, ...rest } = found;
    const level = worstOf([...found.cluster, ...all]);
    return {
      ...rest,
      ...(level && { level }),
      tubes: all.slice(0, MAX_TUBES),
      ...(more > 0 && { moreTubes: more }),
    };
  }
}

/** Its last known cause with present counts: only the consumers aren't known again yet. */
function withPresent(problem: TubeProblem, present: TubeProblem | undefined): TubeProblem {
  if (!present) return problem;
  const { asOf: _asOf, ...cause } = problem;
  const { jobs, due, dead, oldestDue } = present;
  const counts = { jobs, due, dead, oldestDue };
  return { ...cause, ...Object.fromEntries(Object.entries(counts).filter(([, each]) => each !== undefined)) };
}

/** Whether a part of what a tube is judged by is unknown. */
function isUncounted({ dead, waiting, consumers }: TubeView): boolean {
  return dead === undefined || waiting === undefined || consumers === undefined;
}
