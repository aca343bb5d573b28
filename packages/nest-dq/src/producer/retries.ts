import { DqError, factOf, type DqErrorCode } from '../errors.js';
import type { Clock, Timer } from 'nest-handlers/time';

/** At most so many calls wait for their next try, with so many bytes of payloads. Any more fail. */
const MOST_CALLS = 50_000;
const MOST_BYTES = 64 * 1024 * 1024;
/** Milliseconds from the end of a try to the next of the same call, at least. */
const PAUSE = 100;
/** Milliseconds between two looks at what waits. */
const LOOK_EVERY = 50;
/** Tries under way: few while they fail, twice as many with each that succeeds. */
const FEWEST_UNDER_WAY = 16;
const MOST_UNDER_WAY = 512;
/** Failures that pass when servers come back. With `indeterminate: false` the call had no effect. */
const PASSING: ReadonlySet<DqErrorCode> = new Set(['DQ_TOO_FEW_COPIES', 'DQ_LEDGER_DOWN', 'DQ_NO_COPY']);

/** What the next try of a call depends on. */
export interface PatientCall {
  /** Milliseconds, counted from the first failure. */
  readonly patience: number;
  /** For calls that belong together: their patience counts from the first failure since one of them succeeded. */
  readonly together?: Together;
  /** Bytes of the payload that waits. @default 0 */
  readonly bytes?: number;
  /** It may be repeated without harm, so that an unknown outcome is no reason to stop. @default false */
  readonly repeatable?: boolean;
}

export interface Together {
  /** By the clock. */
  failingSince: number | undefined;
}

interface Waiting {
  /** By the clock: when its patience is over, unless other calls succeed. */
  readonly until: number;
  readonly patience: number;
  readonly notBefore: number;
  readonly go: (turn: 'again' | 'over' | 'closed') => void;
}

/**
 * Tries calls again that had no effect because servers were away, each until its patience is over. They go on in their order,
 * some at a time. While some of them succeed, a call fails for its patience only after its own try has failed: so a burst of
 * any length is worked off. A call that succeeds at once costs nothing here.
 */
export class Retries {
  private readonly waiting = new Set<Waiting>();
  private calls = 0;
  private bytes = 0;
  private underWay = 0;
  private mostUnderWay = FEWEST_UNDER_WAY;
  private lastSuccess = -Infinity;
  private timer: Timer | undefined;
  private closed = false;

  constructor(private readonly clock: Clock) {}

  async run<T>(call: PatientCall, attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt();
    } catch (failure) {
      return this.again(failure, call, attempt);
    }
  }

  /**
   * The result of a call whose first try ended with `failure`. The error says how often it was tried, and for how long.
   * `DQ_OVERLOADED`: too many calls wait already.
   */
  async again<T>(failure: unknown, call: PatientCall, attempt: () => Promise<T>): Promise<T> {
    if (!isPassing(failure, call)) throw failure;
    const { patience, together, bytes = 0 } = call;
    const now = this.clock.now();
    const since = together ? (together.failingSince ??= now) : now;
    if (now >= since + patience) throw failure;
    this.enter(bytes, failure);
    try {
      return await this.insist(failure, since, call, attempt);
    } finally {
      this.calls--;
      this.bytes -= bytes;
    }
  }

  /** All calls that wait fail. Idempotent. */
  close(): void {
    this.closed = true;
    this.timer?.cancel();
    for (const each of this.waiting) each.go('closed');
    this.waiting.clear();
  }

  private async insist<T>(
    first: DqError,
    since: number,
    call: PatientCall,
    attempt: () => Promise<T>,
  ): Promise<T> {
    const { patience } = call;
    let failure = first;
    for (let tries = 1; ; tries++) {
      const isOver = tries > 1 && this.clock.now() >= since + patience;
      const turn = isOver ? 'over' : await this.turn(since + patience, patience);
      if (turn === 'closed') {
        const fact = `the module was closed before the next try: ${factOf(failure)}`;
        throw changed(failure, 'DQ_CLOSED', fact);
      }
      if (turn === 'over') {
        const spent = `${((this.clock.now() - since) / 1_000).toFixed(1)} s`;
        const often = tries === 1 ? 'once' : `${tries} times`;
        throw changed(failure, failure.code, `${factOf(failure)}; tried ${often} in ${spent}`);
      }
      try {
        const result = await attempt();
        this.ended(true);
        return result;
      } catch (error) {
        const passing = isPassing(error, call);
        this.ended(!passing);
        if (!passing) throw error;
        failure = error;
      }
    }
  }

  private enter(bytes: number, failure: DqError): void {
    if (this.calls >= MOST_CALLS || this.bytes + bytes > MOST_BYTES) {
      const fact =
        `${this.calls} calls with ${this.bytes} bytes wait for servers already (at most ${MOST_CALLS} calls and ` +
        `${MOST_BYTES} bytes), so this one does not: ${factOf(failure)}`;
      throw changed(failure, 'DQ_OVERLOADED', fact);
    }
    this.calls++;
    this.bytes += bytes;
  }

  private turn(until: number, patience: number): Promise<'again' | 'over' | 'closed'> {
    if (this.closed) return Promise.resolve('closed');
    return new Promise((go) => {
      this.waiting.add({ until, patience, notBefore: this.clock.now() + PAUSE, go });
      this.timer ??= this.clock.after(LOOK_EVERY, this.look);
    });
  }

  private readonly look = (): void => {
    const now = this.clock.now();
    for (const each of this.waiting) {
      if (now < Math.max(each.until, this.lastSuccess + each.patience)) continue;
      this.waiting.delete(each);
      each.go('over');
    }
    this.release();
    this.timer = this.waiting.size > 0 ? this.clock.after(LOOK_EVERY, this.look) : undefined;
  };

  private release(): void {
    const now = this.clock.now();
    for (const each of this.waiting) {
      if (this.underWay >= this.mostUnderWay || each.notBefore > now) return;
      this.waiting.delete(each);
      this.underWay++;
      each.go('again');
    }
  }

  private ended(well: boolean): void {
    this.underWay--;
    this.mostUnderWay = well ? Math.min(MOST_UNDER_WAY, this.mostUnderWay * 2) : FEWEST_UNDER_WAY;
    if (!well) return;
    this.lastSuccess = this.clock.now();
    this.release();
  }
}

function isPassing(error: unknown, { repeatable }: PatientCall): error is DqError {
  return error instanceof DqError && PASSING.has(error.code) && (!error.indeterminate || repeatable === true);
}

/** The same failure with other words. */
function changed({ cause, indeterminate, nodes }: DqError, code: DqErrorCode, fact: string): DqError {
  return new DqError(code, fact, { cause, indeterminate, nodes });
}
