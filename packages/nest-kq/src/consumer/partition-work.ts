/** The work of one partition while this member owns it. */
import { isFor } from '../driver/addressing.js';
import type { LogBatch, LogDriver, LogMember } from '../driver/driver.js';
import type { TopicPartition } from '../driver/message.js';
import type { MemoryBudget } from './memory-budget.js';
import { type Lane, Lanes, type Order, type Waiting } from './lanes.js';
import { OffsetTrack } from './offset-track.js';
import type { RunSignal } from './run-signal.js';

/** Limits of what a partition may hold in this process. */
export interface Room {
  /** Max messages seen but not yet below the watermark. */
  readonly messages: number;
  /** Budget for the bytes of unhandled messages, shared by all partitions of the process. */
  readonly budget: MemoryBudget;
}

/** The owner of the work, for transactions that commit its offsets. */
export interface WorkOwner {
  readonly driver: LogDriver;
  readonly group: string;
  readonly member: Pick<LogMember, 'identity' | 'rejoin'>;
  /** Resolves once no commit is pending. None starts afterwards for partitions in a transaction. */
  settled(): Promise<void>;
  /** Called when a watermark may have moved, or may be committed again. */
  moved(): void;
  /** Returns false if, by `now`, the process may have lost its partitions without knowing it. */
  isConfirmed(now: number): boolean;
}

export class PartitionWork {
  /** Offset after the last message of the partition, as of the last batch. */
  end = 0n;
  /** Watermark committed to the group. */
  committed: bigint | undefined;
  /** Clock time since which a message can be taken; undefined if none can. */
  availableSince: number | undefined;
  /** Whether fetching is paused. */
  paused = false;
  /** Whether a stall check is scheduled. */
  watched = false;
  /** Offset of the message last reported as stalling the partition; undefined if none was. */
  stalledAt: bigint | undefined;
  private readonly track = new OffsetTrack();
  private readonly lanes: Lanes;
  /** Whether the partition is lost, so that results of its runs no longer count. */
  lost = false;
  /** Whether a transaction is about to commit its offset. */
  inTransaction = false;
  /** Whether a rebalance made the transaction fail on the messages taken last. */
  interrupted = false;
  /** Number of runs, since the group last confirmed this partition, that ended when it may already have been lost. */
  doubtful = 0;
  /** Signals of current runs. */
  private readonly runs = new Set<RunSignal>();
  private bytes = 0;
  /** Offset after the highest message that has started. */
  private begunTo = 0n;

  constructor(
    readonly place: TopicPartition,
    readonly order: Order,
    private readonly room: Room,
    readonly owner: WorkOwner,
  ) {
    this.lanes = new Lanes(order);
    room.budget.open();
  }

  get watermark(): bigint | undefined {
    return this.track.watermark;
  }

  /** Timestamp of the first unhandled message; undefined if there is none. */
  get oldest(): number | undefined {
    return this.track.oldest;
  }

  get available(): number {
    return this.lanes.available;
  }

  get stalled(): boolean {
    return this.stalledAt !== undefined && this.stalledAt === this.watermark;
  }

  /** Number of messages at or above the watermark, handled or not. */
  get ahead(): number {
    return this.track.size;
  }

  /** Whether it accepts no more messages. */
  get full(): boolean {
    const { messages, budget } = this.room;
    if (this.track.size >= messages || this.bytes >= MAX_BYTES) return true;
    return this.bytes > 0 && this.bytes >= budget.share && budget.scarce;
  }

  /** Whether it accepts messages again. */
  get roomy(): boolean {
    const { messages, budget } = this.room;
    if (this.track.size * 2 > messages || this.bytes * 2 > MAX_BYTES) return false;
    return this.bytes * 2 <= budget.share || !budget.scarce;
  }

  /** Adds a batch. Skips known messages, which are delivered again after each rejoin. */
  add({ messages, next, end }: LogBatch): void {
    let bytes = 0;
    for (const message of messages) {
      if (this.track.knows(message.offset)) continue;
      if (!isFor(message.headers, this.owner.group)) continue; // not for this group: its offset is skipped
      this.track.seen(message.offset, message.timestamp);
      bytes += sizeOf(message);
      this.lanes.add(message);
    }
    this.hold(bytes);
    this.track.skipTo(next);
    this.end = end;
  }

  /** Whether these are the first unhandled messages, in order. */
  isNext(offsets: readonly bigint[]): boolean {
    return this.track.isNext(offsets) && !this.hasCommitted(offsets[0]!);
  }

  hasCommitted(offset: bigint): boolean {
    return this.committed !== undefined && offset < this.committed;
  }

  /** @param gaps Whether to take only messages below one that has started, which hold back the watermark. */
  take(most: number, gaps = false): Waiting[] {
    const taken = this.lanes.take(most, gaps ? this.begunTo : undefined);
    if (taken.length > 0) this.interrupted = false;
    for (const waiting of taken) {
      waiting.attempts++;
      const { offset } = waiting.message;
      if (offset >= this.begunTo) this.begunTo = offset + 1n;
    }
    return taken;
  }

  /**
   * @param again Unhandled messages, in order.
   * @param hold Whether their lanes wait for `release`.
   */
  settle(taken: readonly Waiting[], again: readonly Waiting[], hold: boolean): void {
    const kept = again.length > 0 ? new Set(again) : undefined;
    let bytes = 0;
    for (const waiting of taken) {
      if (kept?.has(waiting)) continue;
      this.track.handled(waiting.message.offset);
      bytes -= sizeOf(waiting.message);
    }
    this.hold(bytes);
    if (this.interrupted) for (const waiting of again) waiting.attempts--;
    this.lanes.settle(taken, again, hold);
  }

  release(lane: Lane): void {
    this.lanes.release(lane);
  }

  /** Adds a run that hasn't ended synchronously. `ended` follows. */
  began(run: RunSignal): void {
    this.runs.add(run);
  }

  get running(): number {
    return this.runs.size;
  }

  ended(run: RunSignal): void {
    this.runs.delete(run);
  }

  /** Idempotent. */
  lose(): void {
    if (!this.lost) this.room.budget.close(this.bytes);
    this.lost = true;
    this.giveUp();
  }

  /** Aborts the current runs; nothing waits for them any more. Their results still count. */
  giveUp(): void {
    for (const run of this.runs) run.cut();
  }

  private hold(bytes: number): void {
    this.bytes += bytes;
    this.room.budget.add(bytes);
  }
}

/** Max bytes held per partition, even if memory is plentiful: more would only wait longer here. */
const MAX_BYTES = 16 * 2 ** 20;
/** Estimated overhead of a message's own objects, in bytes. */
const OVERHEAD_BYTES = 200;

function sizeOf({ key, value }: { readonly key: Buffer | null; readonly value: Buffer | null }): number {
  return OVERHEAD_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
}
