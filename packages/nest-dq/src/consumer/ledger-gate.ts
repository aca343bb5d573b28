import type { TubeLedger } from '../ledger/ledger.js';
import type { Clock, Timer } from '../time/clock.js';

/** Milliseconds. A ledger that is away for longer stops reserving: other processes get what this one cannot claim ◆. */
const AWAY_LIMIT = 1_000;
/** Milliseconds. By then after the ledger is back, all other processes have told it what they still run ◆. */
const BACK_PAUSE = 2_000;

/**
 * `open`: the ledger answers, and claims may begin or go on. `suspended`: the ledger is away for longer than a moment.
 * `back`: it answers again, so this process tells it at once what it still runs.
 */
export type GateChange = 'open' | 'suspended' | 'back';

/** Decides whether this process may reserve and claim: the ledger may answer, be away, or be just back. */
export class LedgerGate {
  /** This process must hold nothing that is not claimed. */
  suspended = false;
  /**
   * Set until all other processes have told what they still run. Leases that ended since this ledger time may have ended
   * only because their processes were cut off. Jobs that nobody ever ran can be claimed all the time, however often the
   * ledger comes and goes.
   */
  sparedFrom: number | undefined;
  private begun = false;
  /** The ledger may have forgotten runs that go on: nothing is claimed until it was told of them again. */
  private recovering = false;
  private awayTimer: Timer | undefined;
  private backTimer: Timer | undefined;
  private stopListening: (() => void) | undefined;

  constructor(
    private readonly ledger: TubeLedger,
    private readonly clock: Clock,
    private readonly changed: (change: GateChange) => void,
  ) {}

  /** This process may reserve and claim. */
  get open(): boolean {
    return this.begun && !this.suspended && !this.recovering && !this.ledger.away;
  }

  start(): void {
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

  /** Sends no more events. Idempotent, also before `start`. */
  close(): void {
    this.begun = true;
    this.suspended = true;
    this.stopListening?.();
    this.awayTimer?.cancel();
    this.backTimer?.cancel();
  }

  private begin(): void {
    if (this.begun) return;
    this.begun = true;
    this.changed('open');
  }

  private away(heardAt: number): void {
    this.sparedFrom ??= heardAt;
    this.backTimer?.cancel();
    this.backTimer = undefined;
    this.awayTimer ??= this.clock.after(AWAY_LIMIT, () => {
      this.suspended = true;
      this.changed('suspended');
    });
  }

  private back(sameServer: boolean): void {
    this.awayTimer?.cancel();
    this.awayTimer = undefined;
    this.changed('back');
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
    this.suspended = false;
    if (this.begun) this.changed('open');
    else this.begin();
  }
}
