// ◆ marks a rule of docs/internals/delivery.md.
import type { TubeLedger } from '../ledger/ledger.js';
import type { Pause } from '../ledger/requests.js';
import type { Clock, Timer } from 'nest-handlers/time';

/** How long the ledger may be unreachable before reserving stops, so that other processes get what this one can't claim ◆. */
const AWAY_LIMIT_MS = 1_000;
/** Interval between checks of whether the tube is still paused. */
const PAUSE_CHECK_INTERVAL_MS = 1_000;
/** Time after the ledger's return by which all other processes have reported what they still run ◆. */
const BACK_PAUSE_MS = 2_000;

const NOT_KNOWN: Pause = { since: 0 };

/**
 * `open`: the ledger answers; claims may start or continue. `suspended`: nothing unclaimed may be held, because, for example, the
 * ledger has been unreachable for too long or the tube is paused. `back`: the ledger answers again, so this process immediately
 * reports what it still runs.
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
 * Decides whether this process may reserve and claim. It may unless one of these holds; they begin and end independently, so
 * several can hold at once:
 *
 * | condition    | from                                               | until                                         | held copies |
 * | ------------ | -------------------------------------------------- | --------------------------------------------- | ----------- |
 * | not begun    | the start                                          | the ledger's first answer                     |             |
 * | away         | a call without an answer                           | the ledger answers                            | kept        |
 * | cut off      | the ledger has been away for 1 s                   | the ledger answers and isn't recovering       | released    |
 * | recovering   | another server answers: it may have forgotten runs | 2 s later: all processes have reported theirs | kept        |
 * | paused       | a claim is answered `paused`                       | the ledger, asked once a second, says resumed | released    |
 * | not admitted | other processes use another ledger                 | they no longer do                             | released    |
 * | closed       | `close`                                            |                                               | released    |
 */
export class LedgerGate {
  /**
   * Ledger time; set until all other processes have reported what they still run. Leases that ended after it may have ended only
   * because their processes couldn't reach the ledger. Jobs that never ran can be claimed throughout, however often the ledger
   * becomes unreachable.
   */
  sparedFrom: number | undefined;
  private begun = false;
  private closed = false;
  private cutOff = false;
  /** Whether the tube is paused, as far as this process knows, which notices a pause by the answer to a claim. */
  private paused = false;
  /** Whether the ledger may have forgotten ongoing runs. Nothing is claimed until they have been reported to it again. */
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
    /** Absent if there can be no other process. */
    private readonly admission?: AdmissionView,
  ) {}

  /** Whether this process must hold nothing unclaimed. */
  get suspended(): boolean {
    return this.cutOff || this.paused || this.closed || this.admission?.admitted === false;
  }

  /** Whether this process may reserve and claim. */
  get open(): boolean {
    return this.begun && !this.suspended && !this.recovering && !this.ledger.away;
  }

  start(listener: GateListener): void {
    this.listener = listener;
    this.stopWaiting = this.admission?.listen({
      admitted: () => this.openIfReady(),
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

  /** Called when a claim was answered `paused`: nothing is reserved until the ledger, asked once a second, says the tube is resumed. */
  pause(ms: number): void {
    if (this.paused || this.closed) return;
    this.paused = true;
    this.lookIn(ms);
    this.listener?.gateChanged('suspended');
  }

  /** Stops notifying the listener. Idempotent, and allowed before `start`. */
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
    this.openIfReady();
  }

  private openIfReady(): void {
    if (this.begun && !this.suspended) this.listener?.gateChanged('open');
  }

  private away(heardAt: number): void {
    this.sparedFrom ??= heardAt;
    this.backTimer?.cancel();
    this.backTimer = undefined;
    this.awayTimer ??= this.clock.after(AWAY_LIMIT_MS, () => {
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
    this.backTimer ??= this.clock.after(BACK_PAUSE_MS, () => this.calm());
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
    else this.openIfReady();
  }

  private lookIn(ms: number): void {
    const pause = Math.max(1, Math.min(ms, PAUSE_CHECK_INTERVAL_MS));
    this.pauseTimer = this.clock.after(pause, () => void this.look());
  }

  private async look(): Promise<void> {
    // Without an answer, the tube counts as paused.
    const still = await this.ledger.paused().catch(() => NOT_KNOWN);
    if (this.closed) return;
    if (still)
      return this.lookIn(
        still.until === undefined ? PAUSE_CHECK_INTERVAL_MS : still.until - this.ledger.now(),
      );
    this.paused = false;
    this.openIfReady();
  }
}
