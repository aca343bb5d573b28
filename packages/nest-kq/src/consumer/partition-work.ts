/** The work of one partition, as long as this member has it. */
import { isFor } from '../driver/addressing.js';
import type { LogBatch, LogDriver, LogMember } from '../driver/driver.js';
import type { TopicPartition } from '../driver/message.js';
import type { MemoryBudget } from './memory-budget.js';
import { type Lane, Lanes, type Order, type Waiting } from './lanes.js';
import { OffsetTrack } from './offset-track.js';
import type { RunSignal } from './run-signal.js';

/** How much of a partition may be here. */
export interface Room {
  /** Messages that were seen and are not below the watermark yet. */
  readonly messages: number;
  /** Bytes of those that are not handled, over all partitions of the process. */
  readonly budget: MemoryBudget;
}

/** Whose work it is, for transactions that commit its offsets. */
export interface WorkOwner {
  readonly driver: LogDriver;
  readonly group: string;
  readonly member: Pick<LogMember, 'identity' | 'rejoin'>;
  /** Resolves once no commit is under way; of what is in a transaction none begins then. */
  settled(): Promise<void>;
  /** A watermark may have moved, or may be committed again. */
  moved(): void;
  /** False: by this time the process may have lost its partitions without knowing it. */
  isConfirmed(now: number): boolean;
}

export class PartitionWork {
  /** The offset after the last message of the partition, when the last batch came. */
  end = 0n;
  /** The watermark that the group has. */
  committed: bigint | undefined;
  /** Clock time from which on something can be taken; undefined: nothing can. */
  availableSince: number | undefined;
  /** Its fetch is held. */
  paused = false;
  /** Somebody looks whether it stalls. */
  watched = false;
  /** The offset of the message that was told to hold it up; undefined: none was. */
  stalledAt: bigint | undefined;
  private readonly track = new OffsetTrack();
  private readonly lanes: Lanes;
  /** Nothing that its runs come to is told any more. */
  lost = false;
  /** A transaction is about to commit its offset. */
  inTransaction = false;
  /** The last transaction of what was taken last came to nothing, as the group was shared out anew. */
  interrupted = false;
  /** Runs that have ended since the group confirmed this partition, at a time when it may have been lost. */
  doubtful = 0;
  /** Of the runs that go on. */
  private readonly runs = new Set<RunSignal>();
  private bytes = 0;
  /** The offset after the last message that has begun. */
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

  /** The timestamp of the first message that is here and not handled; undefined: there is none. */
  get oldest(): number | undefined {
    return this.track.oldest;
  }

  get available(): number {
    return this.lanes.available;
  }

  get stalled(): boolean {
    return this.stalledAt !== undefined && this.stalledAt === this.watermark;
  }

  /** Messages from the watermark on, handled or not. */
  get ahead(): number {
    return this.track.size;
  }

  /** From here on it takes no more. */
  get full(): boolean {
    const { messages, budget } = this.room;
    if (this.track.size >= messages || this.bytes >= MOST_BYTES) return true;
    return this.bytes > 0 && this.bytes >= budget.share && budget.scarce;
  }

  /** Here it takes messages again. */
  get roomy(): boolean {
    const { messages, budget } = this.room;
    if (this.track.size * 2 > messages || this.bytes * 2 > MOST_BYTES) return false;
    return this.bytes * 2 <= budget.share || !budget.scarce;
  }

  /** What is known comes again after each rejoin, and is left out. */
  add({ messages, next, end }: LogBatch): void {
    let bytes = 0;
    for (const message of messages) {
      if (this.track.knows(message.offset)) continue;
      if (!isFor(message.headers, this.owner.group)) continue; // a gap
      this.track.seen(message.offset, message.timestamp);
      bytes += sizeOf(message);
      this.lanes.add(message);
    }
    this.hold(bytes);
    this.track.skipTo(next);
    this.end = end;
  }

  /** Whether these are the first messages that are not handled, in their order. */
  isNext(offsets: readonly bigint[]): boolean {
    return this.track.isNext(offsets) && !this.hasCommitted(offsets[0]!);
  }

  hasCommitted(offset: bigint): boolean {
    return this.committed !== undefined && offset < this.committed;
  }

  /** @param gaps Only messages below one that has begun: they hold the watermark. */
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

  /** @param again Those that are not handled, in their order; `hold`: their lanes wait for `release`. */
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

  /** The run goes on after the call. `ended` follows. */
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

  /** Nobody waits for what runs. What it comes to still counts. */
  giveUp(): void {
    for (const run of this.runs) run.cut();
  }

  private hold(bytes: number): void {
    this.bytes += bytes;
    this.room.budget.add(bytes);
  }
}

/** Of one partition, also where memory is plenty: what waits here longer than others' messages is of no use. */
const MOST_BYTES = 16 * 2 ** 20;
/** Of a message's own objects, about. */
const OVERHEAD = 200;

function sizeOf({ key, value }: { readonly key: Buffer | null; readonly value: Buffer | null }): number {
  return OVERHEAD + (key?.length ?? 0) + (value?.length ?? 0);
}
