/** The messages of one handler: what runs now, on which partitions, and how many at a time. */
import type { LogBatch, LogMember } from '../driver/driver.js';
import type { LogMessage, TopicPartition } from '../driver/message.js';
import { keyOf } from '../driver/assignment.js';
import { detached } from 'nest-handlers/context';
import type { Clock, Timer } from 'nest-handlers/time';
import type { Lane, Order, Waiting } from './lanes.js';
import { PartitionWork, type Room, type WorkOwner } from './partition-work.js';
import type { Pauses } from './pauses.js';
import { RunSignal } from './run-signal.js';

/** A message that is to be handled. */
export interface Delivery extends TopicPartition {
  readonly message: LogMessage;
  /** 1 for the first run in this process. */
  readonly attempt: number;
  /** Absent: it came back through nest-dq. */
  readonly work?: PartitionWork;
}

/** What became of a message: it is done, wherever it went; or it runs again after so many milliseconds, before all behind it. */
export type Outcome = 'handled' | { readonly after: number };

/** A partition that was lost while handlers ran. */
export interface CutPartition extends TopicPartition {
  readonly runs: number;
}

/** How messages become runs. */
export interface WorkOptions {
  readonly order: Order;
  /** Runs at a time, over all partitions of this process. */
  readonly concurrency: number;
  /** Messages of a run at most, all of one partition. */
  readonly size: number;
  /** How long a run waits until it has so many, in milliseconds. */
  readonly within: number;
  readonly room: Room;
  /** A message has held up its partition for long. Absent: that is meant so. */
  stalled?(stall: Stall): void;
  /** Messages of a partition are gone before they could be handled. */
  skipped?(skip: Skip): void;
  /**
   * Gives an outcome for each message, in their order, at once if it is known then. It neither throws nor rejects.
   * @param run Is cut when the partition is lost, or the process gives up waiting for the run.
   */
  run(deliveries: readonly Delivery[], run: RunSignal): Ran;
}

/** The message that holds up its partition. */
export interface Stall extends TopicPartition {
  readonly offset: bigint;
  /** Messages behind it that are here. */
  readonly behind: number;
  /** Milliseconds that it has held the partition at least. */
  readonly after: number;
}

/** Offsets that the log does not have any more. */
export interface Skip extends TopicPartition {
  /** The first of them. */
  readonly from: bigint;
  /** The one after the last. */
  readonly to: bigint;
}

/** What a run came to, or will. */
export type Ran = Promise<readonly Outcome[]> | readonly Outcome[];

/** Milliseconds for which a partition is full, and its first message the same, until that is told. */
const STALL = 10_000;

/**
 * Milliseconds after a rebalance or a stop has begun during which messages still begin that come before others that have
 * begun, such as the second one of a key: the offset to commit stays before them, and all behind it would be repeated.
 */
export const FILL_LIMIT = 1_000;

export class TopicWork {
  private readonly partitions = new Map<string, PartitionWork>();
  /** Those that may have something to run, each in turn. */
  private turns: PartitionWork[] = [];
  private readonly running = new Map<Promise<void>, PartitionWork>();
  /** Until a held lane runs again, or a run that is not full begins. */
  private readonly timers = new Set<Timer>();
  private stopping = false;
  /** The group is being shared out anew. */
  private rejoining = false;
  /** Clock time until which gaps are filled while it rejoins or stops. */
  private fillUntil = 0;
  private beginning = false;
  private beginAgain = false;

  constructor(
    private readonly options: WorkOptions,
    private readonly member: Pick<LogMember, 'pause' | 'resume'>,
    private readonly clock: Clock,
    private readonly pauses: Pick<Pauses, 'has'>,
    /** A watermark may have moved. */
    private readonly moved: () => void,
    private readonly owner: WorkOwner,
  ) {}

  /** Of partitions that are assigned now. */
  get works(): Iterable<PartitionWork> {
    return this.partitions.values();
  }

  get runs(): number {
    return this.running.size;
  }

  /**
   * Begins nothing until `assigned`, but for gaps. Resolves once nothing runs, or `assigned` was called.
   * @param fill Milliseconds for gaps.
   */
  async rejoin(fill: number): Promise<void> {
    this.rejoining = true;
    this.fillUntil = this.clock.now() + fill;
    // What runs of partitions that were lost before is nobody's.
    const own = () => [...this.running].filter(([, { lost }]) => !lost).map(([run]) => run);
    while (this.rejoining && own().length > 0) await Promise.all(own());
    this.fillUntil = 0;
  }

  /**
   * @param keep What is here of partitions that stay is still right.
   * @returns Partitions that it has lost while handlers ran, or may have run.
   */
  assigned(places: readonly TopicPartition[], keep: boolean): CutPartition[] {
    this.rejoining = false;
    const cut: CutPartition[] = [];
    const names = new Set(places.map(keyOf));
    for (const [name, work] of this.partitions) {
      if (keep && names.has(name)) continue;
      this.partitions.delete(name);
      const runs = work.running + work.doubtful;
      if (runs > 0) cut.push({ ...work.place, runs });
      work.lose();
    }
    this.turns = this.turns.filter((work) => !work.lost);
    for (const place of places) {
      const name = keyOf(place);
      const known = this.partitions.get(name);
      const work = known ?? new PartitionWork(place, this.options.order, this.options.room, this.owner);
      this.partitions.set(name, work);
      work.paused = false; // as nothing is after an assignment
      this.fetch(work);
    }
    this.begin();
    return cut;
  }

  /** The partitions are surely those that it has. */
  confirmed(): void {
    for (const work of this.works) work.doubtful = 0;
    this.begin();
  }

  batch(batch: LogBatch): void {
    const work = this.partitions.get(keyOf(batch));
    if (!work) return;
    if (batch.lost) this.options.skipped?.({ ...work.place, ...batch.lost });
    work.add(batch);
    this.fetch(work);
    this.offer(work);
    this.moved(); // by a gap
    this.begin();
  }

  /** The pauses have changed. Of what is paused nothing begins, and nothing is fetched; what runs goes on. */
  pausesChanged(): void {
    for (const work of this.works) this.fetch(work);
    this.begin();
  }

  /**
   * Begins nothing more, but for gaps. Resolves once nothing runs. Idempotent.
   * @param fill Milliseconds for gaps.
   */
  async stop(fill: number): Promise<void> {
    this.stopping = true;
    this.fillUntil = this.clock.now() + fill;
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
    for (const work of this.works) this.fetch(work);
    while (this.running.size > 0) await Promise.all(this.running.keys());
    this.fillUntil = 0;
  }

  /** Tells the runs that nobody waits for them any more. */
  giveUp(): void {
    for (const work of this.works) work.giveUp();
  }

  private offer(work: PartitionWork): void {
    if (work.available === 0 || work.availableSince !== undefined) return;
    work.availableSince = this.clock.now();
    this.turns.push(work);
    if (this.options.size > 1) this.later(this.options.within, () => this.begin());
  }

  private begin(): void {
    this.beginAgain = true;
    if (this.beginning) return; // a handler has paused or resumed something: the call around it looks again
    this.beginning = true;
    while (this.beginAgain) {
      this.beginAgain = false;
      detached(() => this.beginOnce()); // it may be a request that resumes; once for each run would take a fifth of its time
    }
    this.beginning = false;
  }

  private beginOnce(): void {
    // As often as there are turns now: one that is paused, or has to wait for more messages, goes to the end.
    const { concurrency, size } = this.options;
    let now = this.clock.now();
    for (let left = this.turns.length; left > 0; left--) {
      const onlyGaps = this.stopping || this.rejoining;
      if (this.running.size >= concurrency || (onlyGaps && now >= this.fillUntil)) return;
      if (!this.owner.isConfirmed(now)) return;
      const work = this.turns.shift()!;
      const taken =
        this.pauses.has(work.place.topic) || !(onlyGaps || this.due(work)) ? NONE : work.take(size, onlyGaps);
      if (taken.length === 0) {
        this.turns.push(work);
        continue;
      }
      work.availableSince = undefined;
      const ended = this.start(work, taken);
      this.offer(work);
      if (work.availableSince !== undefined) left++;
      now = work.availableSince ?? this.clock.now(); // a handler may have blocked; reading the clock twice would cost a few percent
      if (ended && !this.owner.isConfirmed(now)) work.doubtful++;
    }
  }

  private due({ available, availableSince = 0 }: PartitionWork): boolean {
    const { size, within } = this.options;
    return available >= size || this.clock.now() >= availableSince + within;
  }

  /** True: the run has ended at once. */
  private start(work: PartitionWork, taken: readonly Waiting[]): boolean {
    const { topic, partition } = work.place; // not spread: that took a third of the time of a message
    const deliveries = taken.map(({ message, attempts }) => {
      return { topic, partition, message, attempt: attempts, work };
    });
    const signal = new RunSignal();
    const ran = this.options.run(deliveries, signal);
    if (!(ran instanceof Promise)) {
      this.settle(work, taken, ran);
      return true;
    }
    work.began(signal);
    const run = ran.then((outcomes) => {
      this.running.delete(run);
      work.ended(signal);
      if (!this.owner.isConfirmed(this.clock.now())) work.doubtful++;
      this.settle(work, taken, outcomes);
      this.begin();
    });
    this.running.set(run, work);
    return false;
  }

  private settle(work: PartitionWork, taken: readonly Waiting[], outcomes: readonly Outcome[]): void {
    if (work.lost) return;
    const again = outcomes.every(isHandled)
      ? NONE
      : taken.filter((_, index) => outcomes[index] !== 'handled');
    work.settle(taken, again, true);
    if (again.length === 0) return this.settled(work);
    for (const lane of new Set(again.map((waiting) => waiting.lane))) {
      const waits = taken.map((waiting, index) => (waiting.lane === lane ? waitOf(outcomes[index]) : 0));
      this.hold(work, lane, Math.max(...waits));
    }
    this.settled(work);
  }

  private settled(work: PartitionWork): void {
    this.offer(work);
    this.fetch(work);
    this.moved();
  }

  /** Holds or resumes the fetch of a partition, by how much of it is here. */
  private fetch(work: PartitionWork): void {
    const { topic, partition } = work.place;
    const off = this.stopping || this.pauses.has(topic);
    if (!work.paused && (off || work.full)) {
      work.paused = true;
      this.member.pause(topic, partition);
      this.watch(work);
    } else if (work.paused && !off && work.roomy) {
      work.paused = false;
      work.stalledAt = undefined;
      this.member.resume(topic, partition);
    }
  }

  /** Tells once of each message that holds up its partition for long. */
  private watch(work: PartitionWork): void {
    if (!this.options.stalled || work.watched) return;
    work.watched = true;
    const { watermark } = work;
    this.later(STALL, () => {
      work.watched = false;
      if (work.lost || !work.paused || this.pauses.has(work.place.topic)) return;
      if (work.watermark !== undefined && work.watermark === watermark && work.stalledAt !== watermark) {
        work.stalledAt = watermark;
        this.options.stalled!({ ...work.place, offset: watermark, behind: work.ahead - 1, after: STALL });
      }
      this.watch(work);
    });
  }

  private hold(work: PartitionWork, lane: Lane, wait: number): void {
    this.later(wait, () => {
      if (work.lost) return;
      work.release(lane);
      this.offer(work);
      this.begin();
    });
  }

  private later(wait: number, callback: () => void): void {
    if (this.stopping) return;
    const timer = this.clock.after(wait, () => {
      this.timers.delete(timer);
      callback();
    });
    this.timers.add(timer);
  }
}

const NONE: readonly Waiting[] = [];

function isHandled(outcome: Outcome): boolean {
  return outcome === 'handled';
}

function waitOf(outcome: Outcome | undefined): number {
  return typeof outcome === 'object' ? outcome.after : 0;
}
