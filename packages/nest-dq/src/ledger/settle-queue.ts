import { maskOf } from '../location.js';
import type { Clock, Timer } from '../time.js';
import type { DeletedCopy } from './deleted-copies.js';
import type { Ledger, SettledCopies } from './ledger.js';

/** Milliseconds. A node may forget its last minute, so a deletion is certain only after that. */
const CERTAIN_AFTER = 60_000;
/** What was deleted alike within this time is held, and ripens, together. */
const TOGETHER = 1_000;
/** What no claim took along by then goes alone. */
const SEND_AFTER = 5_000;
/** Beyond this no more are taken: their records then stay for the longest time, which is safe. */
const MOST_HELD = 500_000;
const BATCH = 1_000;

/** The copies of one job that one process deleted. */
export interface Deletion {
  readonly tube: string;
  readonly id: string;
  readonly generation: number;
  /** The same array for jobs whose copies were deleted alike: they are held together. */
  readonly copies: readonly DeletedCopy[];
  /** Their header knows of a put of unknown outcome. */
  readonly unknown: boolean;
}

/** Jobs whose copies were deleted alike: a process that drains a backlog holds hundreds of thousands. */
interface Group extends Pick<Deletion, 'tube' | 'copies' | 'unknown'> {
  readonly ids: string[];
  readonly generations: number[];
  /** Of the last of them. */
  certainAt: number;
}

/**
 * Holds what was deleted until that is certain, and then tells the ledger, which may forget the job sooner. Nothing is
 * lost when this is: the ledger then remembers longer.
 */
export class SettleQueue {
  /** Oldest first. */
  private waiting: Group[] = [];
  /** Those of `waiting` that still grow. */
  private readonly growing = new Map<readonly DeletedCopy[], Group>();
  private growUntil = 0;
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

  /** Jobs whose deletions the ledger was not told of. */
  get size(): number {
    return this.held;
  }

  add({ tube, id, generation, copies, unknown }: Deletion): void {
    if (this.closed || copies.length === 0 || this.held >= MOST_HELD) return;
    this.held++;
    const now = this.clock.now();
    if (now >= this.growUntil) {
      this.growing.clear();
      this.growUntil = now + TOGETHER;
    }
    let group = this.growing.get(copies);
    if (!group || group.tube !== tube || group.unknown !== unknown) {
      group = { tube, copies, unknown, ids: [], generations: [], certainAt: 0 };
      this.growing.set(copies, group);
      this.waiting.push(group);
    }
    group.ids.push(id);
    group.generations.push(generation);
    group.certainAt = now + CERTAIN_AFTER;
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
    const growing = this.waiting.findIndex(({ certainAt }) => certainAt > now);
    const ripe = this.waiting.splice(0, growing < 0 ? this.waiting.length : growing);
    for (const group of ripe) this.settle(group);
    const [next] = this.waiting;
    // Not for each job by itself: what ripens within a second goes together.
    this.certainTimer = next && this.clock.after(Math.max(1_000, next.certainAt - now), () => this.ripen());
    if (this.certain.size > 0) this.sendTimer ??= this.clock.after(SEND_AFTER, () => this.send());
  }

  private settle({ tube, copies, unknown, ids, generations }: Group): void {
    const mask = maskOf(
      copies.filter(({ node, instance }) => node.instance === instance && !node.logStopped),
    );
    if (mask === 0) {
      this.held -= ids.length;
      return;
    }
    let certain = this.certain.get(tube);
    if (!certain) this.certain.set(tube, (certain = []));
    for (let i = 0; i < ids.length; i++) {
      certain.push({ id: ids[i]!, generation: generations[i]!, mask, unknown });
    }
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
