import { show, wrongValue } from '../../errors.js';
import { Batcher } from '../../ledger/batcher.js';
import type { Timer } from 'nest-handlers/time';
import type { TubeContext } from '../tube-context.js';
import { cut } from './outcome.js';
import type { ProgressReports, Run } from './run.js';

/** Interval between two writes of a tube. */
const WRITE_EVERY_MS = 1_000;
const LARGEST_BATCH = 1_000;
/** In characters. */
const NOTE_LIMIT = 200;

/** Writes the progress that handlers report to the ledger. A report may be lost: nothing depends on it. */
export class ProgressWriter implements ProgressReports {
  private readonly changed = new Set<Run>();
  private readonly batcher: Batcher<Run, void>;
  private timer: Timer | undefined;

  constructor(private readonly context: Pick<TubeContext, 'tube' | 'ledger' | 'clock' | 'cluster'>) {
    const { ledger, clock } = context;
    this.batcher = new Batcher(ledger, clock, {
      largest: LARGEST_BATCH,
      call: (runs) =>
        ledger.progress(
          runs.map(({ id, grant, progress }) => ({ id, fence: grant.fence, progress: progress! })),
        ),
      answered: () => undefined,
      unanswered: () => undefined, // the next report replaces it
      failed: () => undefined, // the renewal of its lease fails on the same record, and says so
    });
  }

  report(run: Run, fraction: number, note: string | undefined): void {
    const { ledger, clock, cluster, tube } = this.context;
    const checked = checkProgress(fraction, note, tube);
    if (!run.handling || run.lost) return;
    const isSecret = cluster.settings.seal?.settings.encrypt === true;
    run.progress = {
      fraction,
      ...(checked !== '' && !isSecret && { note: checked }),
      at: Math.round(ledger.now()),
    };
    this.changed.add(run);
    this.timer ??= clock.after(WRITE_EVERY_MS, () => this.write());
  }

  /** Writes nothing more. Idempotent. */
  close(): void {
    this.timer?.cancel();
    this.batcher.close();
  }

  private write(): void {
    this.timer = undefined;
    // The completion of a run that has ended takes along what is kept of it.
    for (const run of this.changed) if (run.handling && !run.lost) this.batcher.add(run);
    this.changed.clear();
    this.batcher.flush();
  }
}

/** Returns the note as it is kept. Throws `DQ_BAD_OPTION`. */
function checkProgress(fraction: unknown, note: unknown, tube: string): string {
  if (typeof fraction !== 'number' || !(fraction >= 0 && fraction <= 1)) {
    const what = `the progress of a job of ${show(tube)}`;
    throw wrongValue('DQ_BAD_OPTION', what, fraction, 'a number from 0 to 1');
  }
  if (note !== undefined && typeof note !== 'string') {
    const what = `the note on the progress of a job of ${show(tube)}`;
    throw wrongValue('DQ_BAD_OPTION', what, note, 'a string');
  }
  return cut(note ?? '', NOTE_LIMIT);
}
