import type { StoredTube } from '../../api/tube.js';
import { DqError } from '../../errors.js';
import type { Clock } from '../../time/clock.js';
import { unpackIds, unpackRuns, type KeeperMessage, type KeptRun } from './kept-run.js';
import type { Ledger, TubeLedger } from '../ledger.js';
import type { RunRef } from '../requests.js';

const BATCH = 1_000;
/**
 * Parts of a lease. The main thread renews within a third of one; half of it is left when this thread begins to, which may
 * have slept for a look's time before it heard of the run, and again before it looked.
 */
const NEGLECTED = 5 / 12;
const BETWEEN_LOOKS = 1 / 24;
/**
 * Milliseconds. A process that says nothing for longer is taken for hung, and others may have its jobs; a handler that
 * may hang for good has a `timeout` to make that sooner.
 */
const LONGEST_SILENCE = 600_000;

interface Kept {
  readonly run: KeptRun;
  readonly grantedAt: number;
  /** When its renewal by this thread was last asked for, and answered OK. */
  renewedAt: number;
  /** Ledger time of the ledger's last OK that is known here. */
  lastOk: number;
  asked: boolean;
}

interface KeptTube {
  readonly runs: Map<string, Kept>;
  /** When the main thread last renewed them all. */
  beatAt: number;
}

/**
 * The thread's side of the LeaseKeeper: renews what nobody renewed for well over a third of its lease, as happens where
 * the main thread is blocked. The ledger is opened for that, and closed when the main thread speaks again.
 */
export class KeptRuns {
  private readonly tubes = new Map<string, KeptTube>();
  private ledger: Ledger | undefined;
  private looking = false;

  constructor(
    /** Milliseconds. */
    private readonly lease: number,
    private readonly clock: Clock,
    private readonly open: () => Ledger,
    /** Calls back after so many ms, in which nothing else need happen here. */
    private readonly pause: (ms: number, done: () => void) => void,
  ) {}

  /** The main thread speaks. */
  take({ tube: name, over, granted, beat }: KeeperMessage): void {
    const now = this.clock.now();
    let tube = this.tubes.get(name);
    if (!tube) this.tubes.set(name, (tube = { runs: new Map(), beatAt: now }));
    for (const id of unpackIds(over)) tube.runs.delete(id);
    for (const run of unpackRuns(granted)) {
      tube.runs.set(run.id, { run, grantedAt: now, renewedAt: now, lastOk: run.lastOk, asked: false });
    }
    if (beat) tube.beatAt = now;
    if (tube.runs.size === 0) this.tubes.delete(name);
    this.closeLedger();
    if (this.looking) return;
    this.looking = true;
    this.lookLater();
  }

  private look(): void {
    const now = this.clock.now();
    for (const [name, { runs, beatAt }] of this.tubes) {
      const neglected = [...runs.values()].filter(
        ({ run, grantedAt, renewedAt, asked }) =>
          !asked &&
          now - Math.max(renewedAt, beatAt) >= this.lease * NEGLECTED &&
          now - Math.max(grantedAt, beatAt) < LONGEST_SILENCE &&
          now - grantedAt < run.timeout,
      );
      for (let start = 0; start < neglected.length; start += BATCH) {
        void this.renew(name, runs, neglected.slice(start, start + BATCH));
      }
    }
    this.looking = !this.isEmpty();
    if (this.looking) this.lookLater();
  }

  private async renew(name: string, runs: Map<string, Kept>, batch: readonly Kept[]): Promise<void> {
    this.ledger ??= this.open();
    // The messages between threads have plain texts.
    const tube = this.ledger.tube(name as StoredTube);
    for (const kept of batch) kept.asked = true;
    try {
      await this.extend(tube, runs, batch);
    } catch (error) {
      if (!(error instanceof DqError)) throw error;
      // No answer: asked again at the next look.
    }
    for (const kept of batch) kept.asked = false;
  }

  private async extend(tube: TubeLedger, runs: Map<string, Kept>, batch: readonly Kept[]): Promise<void> {
    await tube.readTime();
    const askedAt = this.clock.now();
    const lastOk = tube.now();
    const answers = await tube.extend(batch.map(refOf));
    answers.forEach((answer, i) => {
      const kept = batch[i]!;
      if (answer === 'refused') {
        if (runs.get(kept.run.id) === kept) runs.delete(kept.run.id);
      } else {
        kept.renewedAt = askedAt;
        kept.lastOk = lastOk;
      }
    });
  }

  private closeLedger(): void {
    // What is still asked may end as it likes.
    void this.ledger?.close();
    this.ledger = undefined;
  }

  private isEmpty(): boolean {
    for (const { runs } of this.tubes.values()) if (runs.size > 0) return false;
    return true;
  }

  private lookLater(): void {
    const wait = this.lease * BETWEEN_LOOKS;
    if (this.ledger) this.clock.after(wait, () => this.look());
    else this.pause(wait, () => this.look());
  }
}

function refOf({ run, lastOk }: Kept): RunRef {
  const { id, generation, born, due, fence, attempt } = run;
  return { id, generation, born, due, fence, attempt, lastOk };
}
