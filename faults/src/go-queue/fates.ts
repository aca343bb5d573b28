import type { GoQueueEvent } from 'test-servers';
import type { Findings } from '../checker.js';
import type { History, Run } from '../history.js';

/** Copies of each job. */
const COPIES = 3;

type Counts = Partial<Record<GoQueueEvent['what'], number>>;

/** Records what go-queue did with each job, which distinguishes its losses from those of nest-dq. */
export class GoFates {
  private readonly jobs = new Map<number, Counts>();

  note(job: number, what: GoQueueEvent['what']): void {
    let counts = this.jobs.get(job);
    if (!counts) this.jobs.set(job, (counts = {}));
    counts[what] = (counts[what] ?? 0) + 1;
  }

  /**
   * Why go-queue lost a job that never succeeded: its handler failed, its process died with it, or it deleted all copies although it
   * got no answer of Redis. Undefined: it had no part in it, for it was refused the lock of each copy that it deleted.
   */
  whyLost(job: number): 'failed' | 'killed' | 'no lock' | undefined {
    const {
      deletes = 0,
      drops = 0,
      refused = 0,
      unlocked = 0,
      runs = 0,
      failed = 0,
    } = this.jobs.get(job) ?? {};
    if (failed > 0) return 'failed';
    if (runs > 0 || deletes > drops + refused + unlocked) return 'killed';
    return unlocked >= COPIES ? 'no lock' : undefined;
  }
}

export interface Shares {
  /** Without what go-queue did. */
  readonly ours: Findings;
  /** For the reader of the row. */
  readonly note: string;
}

/**
 * Takes what go-queue itself lost, doubled and ran early out of the findings.
 *
 * @param addedByGo whether go-queue has added a job; what nest-dq has added must not be early in Go either
 */
export function sharesOf(
  found: Findings,
  history: History,
  fates: GoFates,
  addedByGo: (job: number) => boolean,
): Shares {
  const inGo = ({ process }: Run) => process.startsWith('go-');
  const lost = { failed: 0, killed: 0, 'no lock': 0 };
  const ourLost = found.lost.filter((job) => {
    const why = fates.whyLost(job);
    if (why) lost[why]++;
    return !why;
  });
  const isGoEarly = (run: Run) => inGo(run) && addedByGo(run.job);
  const ranInGo = ({ job }: Run) => history.runsOf(job).some((run) => inGo(run) && run.end?.how === 'done');
  const early = found.early.filter((run) => !isGoEarly(run));
  const duplicates = found.duplicates.filter((run) => !ranInGo(run));
  const all = found.lost.length - ourLost.length;
  const runs = [...history.allRuns()].filter(inGo).length;
  return {
    ours: { ...found, lost: ourLost, early, duplicates },
    note:
      `in Go: ${runs} runs; lost ${all} (${lost.failed} because the handler failed, ${lost.killed} because the process was killed, ` +
      `${lost['no lock']} because Redis was away), twice ${found.duplicates.length - duplicates.length}, early ${found.early.length - early.length}`,
  };
}
