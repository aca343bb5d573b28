import type { TubeLedger } from '../ledger/ledger.js';
import type { Clock, Timer } from '../time/clock.js';

/** Milliseconds. A ledger that is away for longer stops the reserving, so that others get what this process cannot claim ◆. */
const AWAY_LIMIT = 1_000;
/** Milliseconds. So long after the ledger is back, others have certainly told what they still run ◆. */
const BACK_PAUSE = 2_000;

/**
 * `open`: claims have answers, and may begin or go on. `suspended`: the ledger is away for longer than a moment. `back`: it
 * answers again, so it is time to tell it what this process still runs.
 */
export type GateChange = 'open' | 'suspended' | 'back';

/** Whether this process may reserve and claim, as the ledger answers, is away, or is just back. */
export class LedgerGate {
  private begun = false;
  private isSuspended = false;
  /** The ledger may have forgotten runs that go on: nothing is claimed until they were told again. */
  private recovering = false;
  private troubledFrom: number | undefined;
  private awayTimer: Timer | undefined;
  private backTimer: Timer | undefined;
  private stopListening: (() => void) | undefined;

  constructor(
    private readonly ledger: TubeLedger,
    private readonly clock: Clock,
    private readonly changed: (change: GateChange) => void,
  ) {}

  /** Reserve and claim. */
  get open(): boolean {
    return this.begun && !this.isSuspended && !this.recovering && !this.ledger.away;
  }

  /** Hold nothing that is not claimed. */
  get suspended(): boolean {
    return this.isSuspended;
  }

  /**
   * Until others have told what they still run: the ledger time from which on their leases may have ended only because they
   * were cut off. However often the ledger comes and goes meanwhile, what nobody ever ran can be claimed.
   */
  get sparedFrom(): number | undefined {
    return this.troubledFrom;
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
    this.changed('open');
  }

  private away(heardAt: number): void {
    this.troubledFrom ??= heardAt;
    this.backTimer?.cancel();
    this.backTimer = undefined;
    this.awayTimer ??= this.clock.after(AWAY_LIMIT, () => {
      this.isSuspended = true;
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
    this.troubledFrom = undefined;
    if (!this.recovering) return;
    this.recovering = false;
    this.resume();
  }

  private resume(): void {
    this.isSuspended = false;
    if (this.begun) this.changed('open');
    else this.begin();
  }
}
