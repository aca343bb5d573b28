import type { StoredTube } from '../api/tube.js';
import { maskOf } from '../copies/location.js';
import type { Clock, Timer } from 'nest-handlers/time';
import { withinLimit } from '../time/call-limit.js';
import type { DeletedCopy, Handover, LeftDeletions } from './handover.js';
import { keptAfter, type Ledger, type LedgerSettings } from './ledger.js';
import type { SettledCopies } from './requests.js';

/** Time until a deletion is certain: a node may forget its last minute. */
const CERTAIN_AFTER_MS = 60_000;
/** Deletions of one kind within this time form one group. */
const BATCH_WINDOW_MS = 1_000;
/** If no claim has carried a certain deletion by then, it is sent in a call of its own. In ms. */
const SEND_AFTER = 5_000;
/** Maximum number of held jobs. Further ones aren't held: their records are then kept as long as possible, which is safe. */
const MAX_HELD = 500_000;
/** Jobs per call. */
const BATCH = 1_000;
/** How often this process checks for what others have left. */
const LOOK_EVERY_MS = 60_000;
/** Jobs per LeftDeletions, and LeftDeletions per call. */
const LEFT_TOGETHER = 500;
const LEFT_IN_A_CALL = 50;
/** Time limit of the last calls. What an ending process can't report or leave by then is lost, and the ledger remembers longer. */
const LAST_CALLS_MS = 500;

/** A server whose restart would bring a deleted copy back. */
interface Witness {
  readonly instance: string | undefined;
  /** Whether it deletes without logging to disk. */
  readonly logStopped: boolean;
}

/** The copies of one job that this process deleted. */
export interface Deletion {
  readonly tube: StoredTube;
  readonly id: string;
  readonly generation: number;
  readonly copies: readonly DeletedCopy[];
  /** Whether their header records a put of unknown outcome. */
  readonly unknown: boolean;
}

/**
 * Jobs of one tube whose copies were deleted on the same servers. There are few such groups per second, although a process that
 * drains a backlog holds hundreds of thousands of jobs.
 */
interface Group extends Omit<LeftDeletions, 'certainIn'> {
  readonly ids: string[];
  readonly generations: number[];
  /** Time on the local clock, in ms, when the last of them is certain. */
  certainAt: number;
}

/** The key of the group a deletion belongs to. */
function keyOf({ tube, unknown }: Deletion, copies: readonly DeletedCopy[]): string {
  let key = unknown ? `${tube} unknown` : tube;
  for (const { index, instance } of copies) key += ` ${index} ${instance}`;
  return key;
}

/**
 * Holds deletions until they are certain, and then reports them to the ledger, which may forget the job sooner. If its process
 * ends before that, it leaves the rest to other processes. Losing them does no harm: the ledger then remembers longer.
 */
export class SettleQueue {
  /** Groups that aren't certain yet, oldest first. */
  private waiting: Group[] = [];
  /** Groups in `waiting` that still grow. */
  private growing = new Map<string, Group>();
  private growUntil = 0;
  /** Number of jobs, waiting and certain. */
  private held = 0;
  private readonly certain = new Map<StoredTube, SettledCopies[]>();
  private readonly handover: Handover | undefined;
  /**
   * Whether the end of a job should be remembered until every copy ever stored would be stale. Then a deletion changes nothing:
   * somebody who has read the copy can store it again.
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

  /** Number of jobs whose deletions haven't been reported to the ledger. */
  get size(): number {
    return this.held;
  }

  add(deletion: Deletion): void {
    if (this.closed || this.remembersAll || deletion.copies.length === 0 || this.held >= MAX_HELD) return;
    this.held++;
    const now = this.clock.now();
    if (now >= this.growUntil) {
      this.growing = new Map<string, Group>();
      this.growUntil = now + BATCH_WINDOW_MS;
    }
    const group = this.groupOf(deletion);
    group.ids.push(deletion.id);
    group.generations.push(deletion.generation);
    group.certainAt = now + CERTAIN_AFTER_MS;
    this.certainTimer ??= this.clock.after(CERTAIN_AFTER_MS, () => this.ripen());
  }

  /** Takes certain deletions to go with a call about this tube. */
  take(tube: StoredTube): SettledCopies[] {
    const certain = this.certain.get(tube);
    if (!certain) return [];
    const taken = certain.splice(0, BATCH);
    this.held -= taken.length;
    if (certain.length === 0) this.certain.delete(tube);
    return taken;
  }

  /** Checks periodically for what ended processes have left. Idempotent. */
  start(): void {
    if (this.handover) this.lookTimer ??= this.clock.after(LOOK_EVERY_MS, () => void this.look());
  }

  /** Reports certain deletions, and leaves the rest to others, as far as that can be done quickly. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.certainTimer?.cancel();
    this.sendTimer?.cancel();
    this.lookTimer?.cancel();
    if (this.held === 0) return;
    // Losing them amounts to not having deleted: the record is kept longer.
    await withinLimit(this.clock, LAST_CALLS_MS, this.leave()).catch(() => undefined);
  }

  /** The group of a deletion, whatever the order in which its copies were deleted. */
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
    // Whatever ripens within a second goes together.
    this.certainTimer = next && this.clock.after(Math.max(1_000, next.certainAt - now), () => this.ripen());
    this.sendSoon();
  }

  private sendSoon(): void {
    if (this.certain.size > 0 && !this.closed) {
      this.sendTimer ??= this.clock.after(SEND_AFTER, () => this.send());
    }
  }

  /**
   * A copy is gone for good if its server is still the same, so that it hasn't forgotten the deletion. If two nodes are the same
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
    for (const tube of Array.from(this.certain.keys())) void this.report(tube);
    this.sendSoon();
  }

  /** One call at a time, so that none delays others for long; waits while the ledger is away. */
  private async report(tube: StoredTube): Promise<void> {
    const ledger = this.ledger.tube(tube);
    while (!ledger.away) {
      const settled = this.take(tube);
      if (settled.length === 0) return;
      // Unanswered amounts to never sent: the record is kept longer.
      await ledger.settle(settled).catch(() => undefined);
    }
  }

  private async look(): Promise<void> {
    await this.takeOver().catch(() => undefined); // what can't be taken now stays there
    this.lookTimer = undefined;
    if (!this.closed) this.start();
  }

  private async takeOver(): Promise<void> {
    const { handover, nodes } = this;
    // Only a server that answers can be compared with the one of the deletion.
    if (!handover || nodes.some(({ instance }) => instance === undefined)) return;
    while (!this.closed && this.held < MAX_HELD) {
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
    for (const tube of Array.from(this.certain.keys())) await this.report(tube);
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
