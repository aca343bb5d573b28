import type { End, Line, Revocation, Schedule, Start } from './log.js';

/** One call of a handler. */
export interface Run extends Start {
  readonly end?: Pick<End, 'how' | 'at'>;
  readonly aborted?: { readonly reason: string; readonly at: number };
}

/** All that is known about one job, in the order of time. */
export interface JobHistory {
  readonly job: number;
  readonly schedules: readonly Schedule[];
  readonly revocations: readonly Revocation[];
  readonly runs: readonly Run[];
}

/** Collects the lines of all logs, which may be added in any order. */
export class History {
  private readonly jobs = new Map<number, Mutable>();
  private readonly runs = new Map<string, MutableRun>();

  static of(lines: readonly Line[]): History {
    const history = new History();
    for (const line of lines) history.add(line);
    return history;
  }

  add(line: Line): void {
    switch (line.what) {
      case 'schedule':
        return insert(this.job(line.job).schedules, line);
      case 'revoke':
        return insert(this.job(line.job).revocations, line);
      case 'start': {
        const run: MutableRun = { ...line };
        this.runs.set(line.run, run);
        return insert(this.job(line.job).runs, run);
      }
      case 'abort':
        this.run(line.run).aborted = { reason: line.reason, at: line.at };
        return;
      case 'end':
        this.run(line.run).end = { how: line.how, at: line.at };
        return;
    }
  }

  /** Every job that was added or run. */
  all(): IterableIterator<JobHistory> {
    return this.jobs.values();
  }

  /** Empty for a job that was neither added nor run. */
  of(job: number): JobHistory {
    return this.jobs.get(job) ?? { job, schedules: [], revocations: [], runs: [] };
  }

  allRuns(): IterableIterator<Run> {
    return this.runs.values();
  }

  /** In the order of time. */
  runsOf(job: number): readonly Run[] {
    return this.jobs.get(job)?.runs ?? [];
  }

  /** The runs in one consumer process. */
  runsIn(process: string): Run[] {
    return [...this.runs.values()].filter((run) => run.process === process);
  }

  private job(job: number): Mutable {
    let history = this.jobs.get(job);
    if (!history) this.jobs.set(job, (history = { job, schedules: [], revocations: [], runs: [] }));
    return history;
  }

  private run(name: string): MutableRun {
    const run = this.runs.get(name);
    if (!run) throw new Error(`the logs have the abort or end of run ${name}, but not its start`);
    return run;
  }
}

type Mutable = {
  -readonly [K in keyof JobHistory]: JobHistory[K] extends readonly (infer T)[] ? T[] : JobHistory[K];
};
type MutableRun = { -readonly [K in keyof Run]: Run[K] };

/** Searches from the end, because most lines come nearly in order. */
function insert<T extends { readonly at: number }>(list: T[], item: T): void {
  let index = list.length;
  while (index > 0 && list[index - 1]!.at > item.at) index--;
  list.splice(index, 0, item);
}
