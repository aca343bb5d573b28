import type { TubeLedger } from '../ledger/ledger.js';
import type { Pause } from '../ledger/requests.js';
import type { Clock, Timer } from 'nest-handlers/time';

/** Milliseconds. A ledger that is away for longer stops reserving: other processes get what this one cannot claim ◆. */
const AWAY_LIMIT = 1_000;
/** Milliseconds. How often a paused tube is looked at. */
const LOOK_AT_PAUSE = 1_000;
/** Milliseconds. By then after the ledger is back, all other processes have told it what they still run ◆. */
const BACK_PAUSE = 2_000;

const NOT_KNOWN: Pause = { since: 0 };

/**
 * `open`: the ledger answers, and claims may begin or go on. `suspended`: the ledger is away for longer than a moment, or the
 * tube is paused. `back`: it answers again, so this process tells it at once what it still runs.
 */
export type GateChange = 'open' | 'suspended' | 'back';

export interface GateListener {
  gateChanged(change: GateChange): void;
}

/** Whether this process may run jobs of the cluster at all. */
export interface AdmissionView {
  readonly admitted: boolean;
  listen(listener: { admitted(): void; refused(): void }): () => void;
}

/**
 * Decides whether this process may reserve and claim: the ledger may answer, be away, be just back, or have paused the tube; and
 * other processes may decide in another ledger.
 */
export class LedgerGate {
  /**
   * Set until all other processes have told what they still run. Leases that ended since this ledger time may have ended
   * only because their processes were cut off. Jobs that nobody ever ran can be claimed all the time, however often the
   * ledger comes and goes.
   */
  sparedFrom: number | undefined;
  private begun = false;
  private closed = false;
  private cutOff = false;
  /** As far as this process knows: a claim is the first to tell. */
  private paused = false;
  /** The ledger may have forgotten runs that go on: nothing is claimed until it was told of them again. */
  private recovering = false;
  private awayTimer: Timer | undefined;
  private backTimer: Timer | undefined;
  private pauseTimer: Timer | undefined;
  private listener: GateListener | undefined;
  private stopListening: (() => void) | undefined;
  private stopWaiting: (() => void) | undefined;

  constructor(
    private readonly ledger: TubeLedger,
    private readonly clock: Clock,
    /** Absent: no other process can be there. */
    private readonly admission?: AdmissionView,
  ) {}

  /** This process must hold nothing that is not claimed. */
  get suspended(): boolean {
    return this.cutOff || this.paused || this.closed || this.admission?.admitted === false;
  }

  /** This process may reserve and claim. */
  get open(): boolean {
    return this.begun && !this.suspended && !this.recovering && !this.ledger.away;
  }

  start(listener: GateListener): void {
    this.listener = listener;
    this.stopWaiting = this.admission?.listen({
      admitted: () => this.goOn(),
      refused: () => this.begun && this.listener?.gateChanged('suspended'),
    });
    this.stopListening = this.ledger.listen({
      away: (_error, heardAt) => this.away(heardAt),
      back: (sameServer) => this.back(sameServer),
    });
    if (this.ledger.away) return; // `back` begins
    this.ledger.readTime().then(
      () => this.begin(),
      () => undefined, // away: `back` begins
    );
  }

  /** A claim was answered `paused`: nothing is reserved until the ledger says, asked once a second, that the tube goes on. */
  pause(ms: number): void {
    if (this.paused || this.closed) return;
    this.paused = true;
    this.lookIn(ms);
    this.listener?.gateChanged('suspended');
  }

  /** Sends no more events. Idempotent, also before `start`. */
  close(): void {
    this.begun = true;
    this.closed = true;
    this.stopListening?.();
    this.stopWaiting?.();
    this.awayTimer?.cancel();
    this.backTimer?.cancel();
    this.pauseTimer?.cancel();
  }

  private begin(): void {
    if (this.begun) return;
    this.begun = true;
    this.goOn();
  }

  private goOn(): void {
    if (this.begun && !this.suspended) this.listener?.gateChanged('open');
  }

  private away(heardAt: number): void {
    this.sparedFrom ??= heardAt;
    this.backTimer?.cancel();
    this.backTimer = undefined;
    this.awayTimer ??= this.clock.after(AWAY_LIMIT, () => {
      this.cutOff = true;
      this.listener?.gateChanged('suspended');
    });
  }

  private back(sameServer: boolean): void {
    this.awayTimer?.cancel();
    this.awayTimer = undefined;
    this.listener?.gateChanged('back');
    this.recovering ||= !sameServer;
    if (!this.recovering) this.resume();
    this.backTimer ??= this.clock.after(BACK_PAUSE, () => this.calm());
  }

  private calm(): void {
    this.backTimer = undefined;
    this.sparedFrom = undefined;
    if (!this.recovering) return;
    this.recovering = false;
    this.resume();
  }

  private resume(): void {
    this.cutOff = false;
    if (!this.begun) this.begin();
    else this.goOn();
  }

  private lookIn(ms: number): void {
    const pause = Math.max(1, Math.min(ms, LOOK_AT_PAUSE));
    this.pauseTimer = this.clock.after(pause, () => void this.look());
  }

  private async look(): Promise<void> {
    // Without an answer the tube counts as paused.
    const still = await this.ledger.paused().catch(() => NOT_KNOWN);
    if (this.closed) return;
    if (still)
      return this.lookIn(still.until === undefined ? LOOK_AT_PAUSE : still.until - this.ledger.now());
    this.paused = false;
    this.goOn();
  }
}
