import { DqError, factOf, type DqErrorCode } from '../errors.js';
import type { Clock, Timer } from 'nest-handlers/time';

/** Max calls waiting for their next try, and max total bytes of their payloads. Further calls fail. */
const MAX_CALLS = 50_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** Min pause before the next try of the same call. */
const PAUSE_MS = 100;
/** Polling interval of the waiting calls. */
const LOOK_EVERY_MS = 50;
/** Min and initial number of tries in flight: few while they fail, doubling with each success. */
const FEWEST_UNDER_WAY = 16;
const MAX_UNDER_WAY = 512;
/** Failures that are transient, until servers are back. With `indeterminate: false`, the call had no effect. */
const PASSING: ReadonlySet<DqErrorCode> = new Set(['DQ_TOO_FEW_COPIES', 'DQ_LEDGER_DOWN', 'DQ_NO_COPY']);

/** Retry settings of a call. */
export interface PatientCall {
  /** How long to retry, in ms from the first failure. */
  readonly patience: number;
  /** Shared by the calls of a batch: their patience counts from the first failure since one of them succeeded. */
  readonly together?: SharedPatience;
  /** Size of the payload being kept, in bytes. @default 0 */
  readonly bytes?: number;
  /** Whether the call is idempotent, so that it may be retried even if its outcome is unknown. @default false */
  readonly repeatable?: boolean;
}

export interface SharedPatience {
  /** Clock time. */
  failingSince: number | undefined;
}

interface Waiting {
  /** Clock time when its patience runs out, unless other calls succeed. */
  readonly until: number;
  readonly patience: number;
  readonly notBefore: number;
  readonly go: (turn: 'again' | 'over' | 'closed') => void;
}

/**
 * Retries calls that had no effect because servers were unreachable, until each one's patience runs out. They are retried in
 * order, several at a time. While some of them succeed, a call runs out of patience only after its own try has failed, so a burst
 * of any length is worked off. A call that succeeds on its first try costs nothing here.
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
   * Retries a call whose first try ended with `failure`. A final error says how often and for how long it was tried.
   * `DQ_OVERLOADED`: too many calls are waiting already.
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

  /** Fails all waiting calls. Idempotent. */
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
    if (this.calls >= MAX_CALLS || this.bytes + bytes > MAX_BYTES) {
      const fact =
        `${this.calls} calls with ${this.bytes} bytes are already waiting for servers (at most ${MAX_CALLS} calls and ` +
        `${MAX_BYTES} bytes), so this one fails: ${factOf(failure)}`;
      throw changed(failure, 'DQ_OVERLOADED', fact);
    }
    this.calls++;
    this.bytes += bytes;
  }

  private turn(until: number, patience: number): Promise<'again' | 'over' | 'closed'> {
    if (this.closed) return Promise.resolve('closed');
    return new Promise((go) => {
      this.waiting.add({ until, patience, notBefore: this.clock.now() + PAUSE_MS, go });
      this.timer ??= this.clock.after(LOOK_EVERY_MS, this.look);
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
    this.timer = this.waiting.size > 0 ? this.clock.after(LOOK_EVERY_MS, this.look) : undefined;
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
    this.mostUnderWay = well ? Math.min(MAX_UNDER_WAY, this.mostUnderWay * 2) : FEWEST_UNDER_WAY;
    if (!well) return;
    this.lastSuccess = this.clock.now();
    this.release();
  }
}

function isPassing(error: unknown, { repeatable }: PatientCall): error is DqError {
  return error instanceof DqError && PASSING.has(error.code) && (!error.indeterminate || repeatable === true);
}

/** Copies a failure with another code and message. */
function changed({ cause, indeterminate, nodes }: DqError, code: DqErrorCode, fact: string): DqError {
  return new DqError(code, fact, { cause, indeterminate, nodes });
}
