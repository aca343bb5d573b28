import type { Clock, Timer } from '../../time/clock.js';
import type { Run } from './run.js';

/** Milliseconds. For so long a handler has its slot after its time was over. */
const GRACE = 5_000;

/** Ends runs that take longer than their timeout. Each run has one timer at most. */
export class HandlerTimeouts {
  private readonly timers = new Map<Run, Timer>();

  constructor(
    private readonly clock: Clock,
    /** Milliseconds; undefined: none. */
    private readonly limit: number | undefined,
    /** The handler's time is over. */
    private readonly timedOut: (run: Run) => void,
    /** The handler has not returned in the grace period either. */
    private readonly overran: (run: Run) => void,
  ) {}

  begin(run: Run): void {
    if (this.limit === undefined) return;
    this.arm(run, this.limit, () => {
      this.outlive(run);
      this.timedOut(run);
    });
  }

  /** The outcome of a run is known, and its handler has not returned. */
  outlive(run: Run): void {
    this.end(run);
    this.arm(run, GRACE, () => {
      this.timers.delete(run);
      this.overran(run);
    });
  }

  /** The handler returned. Does nothing when the run is not watched. */
  end(run: Run): void {
    this.timers.get(run)?.cancel();
    this.timers.delete(run);
  }

  /** Watches nothing any more. */
  close(): void {
    for (const timer of this.timers.values()) timer.cancel();
    this.timers.clear();
  }

  private arm(run: Run, ms: number, callback: () => void): void {
    this.timers.set(run, this.clock.after(ms, callback));
  }
}
