import type { TubeLedger } from '../ledger/ledger.js';
import type { Clock, Timer } from '../time.js';

/** Milliseconds. A ledger that is away for longer stops the reserving, so that others get what this process cannot claim ◆. */
const AWAY_LIMIT = 1_000;
/** Milliseconds. After the ledger is back: others first tell what they still run ◆. */
const BACK_PAUSE = 2_000;

export interface LedgerGateEvents {
  /** There is a time to go by, and claims have answers: once. */
  begin(): void;
  /** The ledger is away for longer than a moment. */
  suspend(): void;
  /** It answers again: time to tell it what this process still runs. */
  back(): void;
  /** Claims may go on. */
  resume(): void;
}

/** Whether this process may reserve and claim, as the ledger answers, is away, or is just back. */
export class LedgerGate {
  private begun = false;
  private isSuspended = false;
  private recovering = false;
  private awayTimer: Timer | undefined;
  private backTimer: Timer | undefined;
  private stopListening: (() => void) | undefined;

  constructor(
    private readonly ledger: TubeLedger,
    private readonly clock: Clock,
    private readonly events: LedgerGateEvents,
  ) {}

  /** Reserve and claim. */
  get open(): boolean {
    return this.begun && !this.isSuspended && !this.recovering && !this.ledger.away;
  }

  /** Hold nothing that is not claimed. */
  get suspended(): boolean {
    return this.isSuspended;
  }

  start(): void {
    this.stopListening = this.ledger.listen({ away: () => this.away(), back: () => this.back() });
    if (this.ledger.away) return; // `back` begins
    this.ledger.readTime().then(
      () => this.begin(),
      () => undefined, // away: `back` begins
    );
  }

  /** No more events. Idempotent, also before `start`. */
  close(): void {
    this.begun = true;
    this.isSuspended = true;
    this.stopListening?.();
    this.awayTimer?.cancel();
    this.backTimer?.cancel();
  }

  private begin(): void {
    if (this.begun) return;
    this.begun = true;
    this.events.begin();
  }

  private away(): void {
    this.backTimer?.cancel();
    this.backTimer = undefined;
    this.awayTimer ??= this.clock.after(AWAY_LIMIT, () => {
      this.isSuspended = true;
      this.events.suspend();
    });
  }

  private back(): void {
    this.awayTimer?.cancel();
    this.awayTimer = undefined;
    this.events.back();
    this.recovering = true;
    this.backTimer ??= this.clock.after(BACK_PAUSE, () => {
      this.backTimer = undefined;
      this.recovering = false;
      this.isSuspended = false;
      if (this.begun) this.events.resume();
      else this.begin();
    });
  }
}
