import type { StoredTube } from '../../api/tube.js';
import { DqError } from '../../errors.js';
import type { Clock } from 'nest-handlers/time';
import { unpackIds, unpackRuns, type LeaseMessage, type RunLease } from './run-lease.js';
import type { Ledger } from '../ledger.js';
import type { RunRef } from '../requests.js';

const BATCH = 1_000;
/**
 * Fractions of a lease. The main thread renews within a third of it. When this thread starts renewing, half of it is left: the
 * thread may have slept between two checks before it heard of the run, and again before its next check.
 */
const NEGLECTED = 5 / 12;
const BETWEEN_LOOKS = 1 / 24;
/**
 * A process that is silent for longer than this is assumed to hang, and others may take its jobs. With a `timeout` they
 * may take the job of a handler sooner.
 */
const LONGEST_SILENCE_MS = 600_000;

interface RenewedRun {
  readonly run: RunLease;
  readonly grantedAt: number;
  /** When this thread sent the last renewal that was answered OK. */
  renewedAt: number;
  /** Ledger time of the last OK known to this thread. */
  lastOk: number;
  asked: boolean;
}

interface TubeRuns {
  readonly runs: Map<string, RenewedRun>;
  /** When the main thread last renewed all of them. */
  beatAt: number;
}

/**
 * Runs in the lease thread. Renews a lease that nobody has renewed for much more than a third of its length, since the main
 * thread is then blocked. It opens a ledger for that, and closes it when the next message arrives.
 */
export class LeaseRenewer {
  private readonly tubes = new Map<string, TubeRuns>();
  private ledger: Ledger | undefined;
  private looking = false;

  constructor(
    /** Length of a lease, in ms. */
    private readonly lease: number,
    private readonly clock: Clock,
    private readonly open: () => Ledger,
    /** Calls back after this time, in ms. The thread may block meanwhile. */
    private readonly pause: (ms: number, done: () => void) => void,
  ) {}

  /** Handles a message of the main thread. */
  take({ tube: name, over, granted, beat }: LeaseMessage): void {
    const now = this.clock.now();
    let tube = this.tubes.get(name);
    if (!tube) this.tubes.set(name, (tube = { runs: new Map(), beatAt: now }));
    for (const id of unpackIds(over)) tube.runs.delete(id);
    for (const run of unpackRuns(granted)) {
      tube.runs.set(run.id, { run, grantedAt: now, renewedAt: now, lastOk: run.lastOk, asked: false });
    }
    if (beat) tube.beatAt = now;
    if (tube.runs.size === 0) this.tubes.delete(name);
    // The outcome of unanswered calls doesn't matter any more.
    void this.ledger?.close();
    this.ledger = undefined;
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
          now - Math.max(grantedAt, beatAt) < LONGEST_SILENCE_MS &&
          now - grantedAt < run.timeout,
      );
      for (let start = 0; start < neglected.length; start += BATCH) {
        void this.renew(name, runs, neglected.slice(start, start + BATCH));
      }
    }
    this.looking = [...this.tubes.values()].some(({ runs }) => runs.size > 0);
    if (this.looking) this.lookLater();
  }

  private async renew(
    name: string,
    runs: Map<string, RenewedRun>,
    batch: readonly RenewedRun[],
  ): Promise<void> {
    this.ledger ??= this.open();
    // Messages between threads contain plain strings, without the brand of StoredTube.
    const tube = this.ledger.tube(name as StoredTube);
    for (const each of batch) each.asked = true;
    try {
      await tube.readTime();
      const askedAt = this.clock.now();
      const lastOk = tube.now();
      const answers = await tube.extend(batch.map(refOf));
      answers.forEach((answer, i) => {
        const each = batch[i]!;
        if (answer === 'refused') {
          if (runs.get(each.run.id) === each) runs.delete(each.run.id);
        } else {
          each.renewedAt = askedAt;
          each.lastOk = lastOk;
        }
      });
    } catch (error) {
      if (!(error instanceof DqError)) throw error;
      // No answer: the next check asks again.
    }
    for (const each of batch) each.asked = false;
  }

  private lookLater(): void {
    const wait = this.lease * BETWEEN_LOOKS;
    if (this.ledger) this.clock.after(wait, () => this.look());
    else this.pause(wait, () => this.look());
  }
}

function refOf({ run, lastOk }: RenewedRun): RunRef {
  const { timeout: _timeout, ...ref } = run;
  return { ...ref, lastOk };
}
