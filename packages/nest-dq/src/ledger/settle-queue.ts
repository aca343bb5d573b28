import type { StoredTube } from '../api/tube.js';
import { maskOf } from '../copies/location.js';
import type { Clock, Timer } from '../time/clock.js';
import { withinLimit } from './call-limit.js';
import { DeletedCopies, type DeletedCopy, type Deletion, type DeletionGroup } from './deleted-copies.js';
import type { Ledger } from './ledger.js';
import type { SettledCopies } from './requests.js';
import type { Succession } from './succession.js';

/** Milliseconds. A node may forget its last minute, so a deletion is certain only after that. */
const CERTAIN_AFTER = 60_000;
/** What was deleted alike within this time is held, and ripens, together. */
const TOGETHER = 1_000;
/** What no claim took along by then goes alone. */
const SEND_AFTER = 5_000;
/** Beyond this no more are taken: their records then stay for the longest time, which is safe. */
const MOST_HELD = 500_000;
const BATCH = 1_000;
/** How often this process looks for what others have left. */
const LOOK_EVERY = 60_000;
/** Milliseconds. What a process that ends could not tell or leave by then is lost, and the ledger remembers longer. */
const LAST_CALLS = 500;

interface GrowingGroup extends DeletionGroup {
  readonly ids: string[];
  readonly generations: number[];
  certainAt: number;
}

/**
 * Holds what was deleted until that is certain, and then tells the ledger, which may forget the job sooner. Nothing is
 * lost when this is: the ledger then remembers longer.
 */
export class SettleQueue {
  /** Oldest first. */
  private waiting: GrowingGroup[] = [];
  /** Of each tube, while groups grow. */
  private readonly none = new Map<StoredTube, DeletedCopies>();
  /** Those of `waiting` that still grow. */
  private readonly growing = new Map<readonly DeletedCopy[], GrowingGroup>();
  private growUntil = 0;
  /** Waiting and certain ones. */
  private held = 0;
  private readonly certain = new Map<StoredTube, SettledCopies[]>();
  private certainTimer: Timer | undefined;
  private sendTimer: Timer | undefined;
  private lookTimer: Timer | undefined;
  private closed = false;

  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
    private readonly succession?: Succession,
  ) {}

  /** Jobs whose deletions the ledger was not told of. */
  get size(): number {
    return this.held;
  }

  add({ tube, id, generation, copies: deleted, unknown }: Deletion): void {
    if (this.closed || deleted.length === 0 || this.held >= MOST_HELD) return;
    this.held++;
    const now = this.clock.now();
    if (now >= this.growUntil) {
      this.endGrowth();
      this.growUntil = now + TOGETHER;
    }
    let group = this.growing.get(deleted);
    if (!group || group.tube !== tube || group.unknown !== unknown) {
      group = this.groupOf(tube, deleted, unknown);
      this.growing.set(deleted, group); // most come with the same array again
    }
    group.ids.push(id);
    group.generations.push(generation);
    group.certainAt = now + CERTAIN_AFTER;
    this.certainTimer ??= this.clock.after(CERTAIN_AFTER, () => this.ripen());
  }

  /** What is certain by now for a tube: it rides on a call that goes there anyway. */
  take(tube: StoredTube): SettledCopies[] {
    const certain = this.certain.get(tube);
    if (!certain) return [];
    const taken = certain.splice(0, BATCH);
    this.held -= taken.length;
    if (certain.length === 0) this.certain.delete(tube);
    return taken;
  }

  /** Looks from time to time for what processes left that have ended. Idempotent. */
  start(): void {
    const { succession } = this;
    if (succession) this.lookTimer ??= this.clock.after(LOOK_EVERY, () => this.look(succession));
  }

  /** Tells what is certain, and leaves the rest to others, as far as that takes little time. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.certainTimer?.cancel();
    this.sendTimer?.cancel();
    this.lookTimer?.cancel();
    if (this.held === 0) return;
    // What is lost is as good as never deleted: the record stays longer.
    await withinLimit(this.clock, LAST_CALLS, this.leave()).catch(() => undefined);
  }

  /** Where what was deleted alike is held, in whatever order its copies were. */
  private groupOf(tube: StoredTube, deleted: readonly DeletedCopy[], unknown: boolean): GrowingGroup {
    let same = this.none.get(tube);
    if (!same) this.none.set(tube, (same = new DeletedCopies()));
    for (const copy of deleted.toSorted((a, b) => a.index - b.index)) same = same.with(copy);
    const { copies } = same;
    let group = this.growing.get(copies);
    if (!group || group.unknown !== unknown) {
      group = { tube, copies, unknown, ids: [], generations: [], certainAt: 0 };
      this.growing.set(copies, group);
      this.waiting.push(group);
    }
    return group;
  }

  private endGrowth(): void {
    this.growing.clear();
    this.none.clear();
  }

  private ripen(): void {
    const now = this.clock.now();
    if (now >= this.growUntil) this.endGrowth();
    const growing = this.waiting.findIndex(({ certainAt }) => certainAt > now);
    const ripe = this.waiting.splice(0, growing < 0 ? this.waiting.length : growing);
    for (const group of ripe) this.settle(group);
    const [next] = this.waiting;
    // Not for each job by itself: what ripens within a second goes together.
    this.certainTimer = next && this.clock.after(Math.max(1_000, next.certainAt - now), () => this.ripen());
    this.sendSoon();
  }

  private sendSoon(): void {
    if (this.certain.size > 0 && !this.closed) {
      this.sendTimer ??= this.clock.after(SEND_AFTER, () => this.send());
    }
  }

  private settle({ tube, copies, unknown, ids, generations }: Omit<DeletionGroup, 'certainAt'>): void {
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
    for (const tube of Array.from(this.certain.keys())) void this.tell(tube);
    this.sendSoon();
  }

  /** One call after the other, so that none is long for others; while the ledger is away, it waits. */
  private async tell(tube: StoredTube): Promise<void> {
    const ledger = this.ledger.tube(tube);
    while (!ledger.away) {
      const settled = this.take(tube);
      if (settled.length === 0) return;
      // Unanswered is as good as never sent: the record stays longer.
      await ledger.settle(settled).catch(() => undefined);
    }
  }

  private look(succession: Succession): void {
    const next = () => {
      this.lookTimer = undefined;
      if (!this.closed) this.start();
    };
    // What cannot be taken now waits where it is.
    if (succession.ready)
      this.takeOver(succession)
        .catch(() => undefined)
        .finally(next);
    else next();
  }

  private async takeOver(succession: Succession): Promise<void> {
    while (!this.closed && this.held < MOST_HELD) {
      const groups = await succession.take();
      if (groups.length === 0) return;
      for (const group of groups) {
        this.held += group.ids.length;
        this.settle(group);
      }
      this.sendSoon();
    }
  }

  private async leave(): Promise<void> {
    await this.succession?.leave(this.waiting, this.clock.now());
    for (const tube of Array.from(this.certain.keys())) await this.tell(tube);
  }
}
