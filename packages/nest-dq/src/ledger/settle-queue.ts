import type { StoredTube } from '../api/tube.js';
import { maskOf } from '../copies/location.js';
import type { Clock, Timer } from 'nest-handlers/time';
import { withinLimit } from '../time/call-limit.js';
import type { DeletedCopy, Handover, LeftDeletions } from './handover.js';
import { keptAfter, type Ledger, type LedgerSettings } from './ledger.js';
import type { SettledCopies } from './requests.js';

/** Milliseconds. A node may forget its last minute, so a deletion is certain only after that. */
const CERTAIN_AFTER = 60_000;
/** Milliseconds. Deletions of one kind within this time make one group. */
const TOGETHER = 1_000;
/** Milliseconds. If no claim has taken a certain deletion along by then, it is sent in a call of its own. */
const SEND_AFTER = 5_000;
/** Jobs. Further ones are not held: their records then stay for the longest time, which is safe. */
const MOST_HELD = 500_000;
/** Jobs in one call. */
const BATCH = 1_000;
/** Milliseconds. How often this process looks for what others have left. */
const LOOK_EVERY = 60_000;
/** Jobs in one LeftDeletions, and LeftDeletions in one call. */
const LEFT_TOGETHER = 500;
const LEFT_IN_A_CALL = 50;
/** Milliseconds. What a process that ends could not tell or leave by then is lost, and the ledger remembers longer. */
const LAST_CALLS = 500;

/** A server whose restart would bring a deleted copy back. */
interface Witness {
  readonly instance: string | undefined;
  /** It deletes without noting it on disk. */
  readonly logStopped: boolean;
}

/** The copies of one job that this process deleted. */
export interface Deletion {
  readonly tube: StoredTube;
  readonly id: string;
  readonly generation: number;
  readonly copies: readonly DeletedCopy[];
  /** Their header knows of a put of unknown outcome. */
  readonly unknown: boolean;
}

/**
 * Jobs of one tube whose copies were deleted on the same servers. There are few such groups in a second, although a process
 * that drains a backlog holds hundreds of thousands of jobs.
 */
interface Group extends Omit<LeftDeletions, 'certainIn'> {
  readonly ids: string[];
  readonly generations: number[];
  /** Milliseconds of the clock: when the last of them is certain. */
  certainAt: number;
}

/** What the deletions of a group have in common. */
function keyOf({ tube, unknown }: Deletion, copies: readonly DeletedCopy[]): string {
  let key = unknown ? `${tube} unknown` : tube;
  for (const { index, instance } of copies) key += ` ${index} ${instance}`;
  return key;
}

/**
 * Holds what was deleted until that is certain, and then tells the ledger, which may forget the job sooner. If its process
 * ends before, it leaves the rest to other processes. Nothing is lost when this is: the ledger then remembers longer.
 */
export class SettleQueue {
  /** Not certain yet; oldest first. */
  private waiting: Group[] = [];
  /** Those of `waiting` that still grow. */
  private growing = new Map<string, Group>();
  private growUntil = 0;
  /** Jobs, waiting and certain ones. */
  private held = 0;
  private readonly certain = new Map<StoredTube, SettledCopies[]>();
  private readonly handover: Handover | undefined;
  /**
   * The end of a job should be remembered until each copy that was ever stored would be stale. Then a deletion changes nothing: somebody
   * who has read the copy can store it again.
   */
  private readonly remembersAll: boolean;
  private certainTimer: Timer | undefined;
  private sendTimer: Timer | undefined;
  private lookTimer: Timer | undefined;
  private closed = false;

  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
    private readonly nodes: readonly Witness[],
    settings: Pick<LedgerSettings, 'doneTtl' | 'staleAfter'>,
  ) {
    this.remembersAll = settings.doneTtl >= keptAfter(settings);
    this.handover = this.remembersAll ? undefined : ledger.handover;
  }

  /** Jobs whose deletions the ledger was not told of. */
  get size(): number {
    return this.held;
  }

  add(deletion: Deletion): void {
    if (this.closed || this.remembersAll || deletion.copies.length === 0 || this.held >= MOST_HELD) return;
    this.held++;
    const now = this.clock.now();
    if (now >= this.growUntil) {
      this.growing = new Map<string, Group>();
      this.growUntil = now + TOGETHER;
    }
    const group = this.groupOf(deletion);
    group.ids.push(deletion.id);
    group.generations.push(deletion.generation);
    group.certainAt = now + CERTAIN_AFTER;
    this.certainTimer ??= this.clock.after(CERTAIN_AFTER, () => this.ripen());
  }

  /** Takes what is certain by now, for a call about this tube that is made anyway. */
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
    if (this.handover) this.lookTimer ??= this.clock.after(LOOK_EVERY, () => void this.look());
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

  /** One for all orders in which the copies were deleted. */
  private groupOf(deletion: Deletion): Group {
    const key = keyOf(deletion, deletion.copies);
    let group = this.growing.get(key);
    if (group) return group;
    const { tube, unknown } = deletion;
    const copies = deletion.copies.toSorted((a, b) => a.index - b.index);
    const sortedKey = keyOf(deletion, copies);
    group = this.growing.get(sortedKey);
    if (!group) {
      group = { tube, copies, unknown, ids: [], generations: [], certainAt: 0 };
      this.growing.set(sortedKey, group);
      this.waiting.push(group);
    }
    this.growing.set(key, group);
    return group;
  }

  private ripen(): void {
    const now = this.clock.now();
    if (now >= this.growUntil) this.growing = new Map<string, Group>();
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

  /**
   * A copy is gone for good if its server is still the same, so that it has not forgotten the deletion. If two nodes are one
   * server, its log has stopped as soon as one of them says so.
   */
  private settle({ tube, copies, unknown, ids, generations }: Omit<LeftDeletions, 'certainIn'>): void {
    const isGone = ({ instance }: DeletedCopy) => {
      const names = this.nodes.filter((node) => node.instance === instance);
      return names.length > 0 && !names.some(({ logStopped }) => logStopped);
    };
    const mask = maskOf(copies.filter(isGone));
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

  private async look(): Promise<void> {
    await this.takeOver().catch(() => undefined); // what cannot be taken now waits where it is
    this.lookTimer = undefined;
    if (!this.closed) this.start();
  }

  private async takeOver(): Promise<void> {
    const { handover, nodes } = this;
    // Only a server that answers can be compared with the one of the deletion.
    if (!handover || nodes.some(({ instance }) => instance === undefined)) return;
    while (!this.closed && this.held < MOST_HELD) {
      const taken = await handover.take();
      if (taken.length === 0) return;
      for (const each of taken) {
        this.held += each.ids.length;
        this.settle(each);
      }
      this.sendSoon();
    }
  }

  private async leave(): Promise<void> {
    if (this.handover) {
      const now = this.clock.now();
      const left = this.waiting.flatMap((group) => partsOf(group, group.certainAt - now));
      while (left.length > 0) await this.handover.leave(left.splice(0, LEFT_IN_A_CALL));
    }
    for (const tube of Array.from(this.certain.keys())) await this.tell(tube);
  }
}

function partsOf({ tube, copies, unknown, ids, generations }: Group, certainIn: number): LeftDeletions[] {
  const parts: LeftDeletions[] = [];
  for (let from = 0; from < ids.length; from += LEFT_TOGETHER) {
    const to = from + LEFT_TOGETHER;
    const part = { ids: ids.slice(from, to), generations: generations.slice(from, to) };
    parts.push({ tube, ...part, copies, unknown, certainIn });
  }
  return parts;
}
