import { maskOf } from '../location.js';
import type { Clock, Timer } from '../time.js';
import type { Ledger, SettledCopies } from './ledger.js';

/** Milliseconds. A node may forget its last minute, so a deletion is certain only after that. */
const CERTAIN_AFTER = 60_000;
/** What no claim took along by then goes alone. */
const SEND_AFTER = 5_000;
/** Beyond this no more are taken: their records then stay for the longest time, which is safe. */
const MOST_HELD = 500_000;
const BATCH = 1_000;

/** A server whose restart would bring a deleted copy back. */
export interface Witness {
  readonly instance: string | undefined;
  /** It deletes without noting it on disk. */
  readonly logStopped: boolean;
}

export interface DeletedCopy {
  readonly index: number;
  readonly node: Witness;
  /** The instance that answered DELETED. */
  readonly instance: string;
}

/** The copies of one job that one process deleted. */
export interface Deletion {
  readonly tube: string;
  readonly id: string;
  readonly generation: number;
  readonly copies: readonly DeletedCopy[];
  /** Their header knows of a put of unknown outcome. */
  readonly unknown: boolean;
}

interface Waiting extends Deletion {
  readonly certainAt: number;
}

/**
 * Holds what was deleted until that is certain, and then tells the ledger, which may forget the job sooner. Nothing is
 * lost when this is: the ledger then remembers longer.
 */
export class SettleQueue {
  private waiting: Waiting[] = [];
  private head = 0;
  /** Waiting and certain ones. */
  private held = 0;
  private readonly certain = new Map<string, SettledCopies[]>();
  private certainTimer: Timer | undefined;
  private sendTimer: Timer | undefined;
  private closed = false;

  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
  ) {}

  add(deletion: Deletion): void {
    if (this.closed || deletion.copies.length === 0 || this.held >= MOST_HELD) return;
    this.held++;
    this.waiting.push({ ...deletion, certainAt: this.clock.now() + CERTAIN_AFTER });
    this.certainTimer ??= this.clock.after(CERTAIN_AFTER, () => this.ripen());
  }

  /** What is certain by now for a tube: it rides on a call that goes there anyway. */
  take(tube: string): SettledCopies[] {
    const certain = this.certain.get(tube);
    if (!certain) return [];
    const taken = certain.splice(0, BATCH);
    this.held -= taken.length;
    if (certain.length === 0) this.certain.delete(tube);
    return taken;
  }

  /** Idempotent. */
  close(): void {
    this.closed = true;
    this.certainTimer?.cancel();
    this.sendTimer?.cancel();
  }

  private ripen(): void {
    const now = this.clock.now();
    while (this.head < this.waiting.length && this.waiting[this.head]!.certainAt <= now) {
      const { tube, id, generation, copies, unknown } = this.waiting[this.head++]!;
      const mask = maskOf(
        copies.filter(({ node, instance }) => node.instance === instance && !node.logStopped),
      );
      if (mask === 0) {
        this.held--;
        continue;
      }
      const certain = this.certain.get(tube);
      if (certain) certain.push({ id, generation, mask, unknown });
      else this.certain.set(tube, [{ id, generation, mask, unknown }]);
    }
    if (this.head === this.waiting.length) {
      this.waiting = [];
      this.head = 0;
    } else if (this.head > 10_000) {
      this.waiting.splice(0, this.head);
      this.head = 0;
    }
    const next = this.waiting[this.head];
    // Not for each job by itself: what ripens within a second goes together.
    this.certainTimer = next && this.clock.after(Math.max(1_000, next.certainAt - now), () => this.ripen());
    if (this.certain.size > 0) this.sendTimer ??= this.clock.after(SEND_AFTER, () => this.send());
  }

  private send(): void {
    this.sendTimer = undefined;
    for (const tube of Array.from(this.certain.keys())) {
      const settled = this.take(tube);
      // Unanswered is as good as never sent: the record stays longer.
      this.ledger
        .tube(tube)
        .settle(settled)
        .catch(() => undefined);
    }
    if (this.certain.size > 0 && !this.closed)
      this.sendTimer = this.clock.after(SEND_AFTER, () => this.send());
  }
}
