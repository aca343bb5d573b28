/** Schedules the messages of one handler: what runs now, on which partitions, and how many at a time. */
import type { LogBatch, LogMember } from '../driver/driver.js';
import type { LogMessage, TopicPartition } from '../driver/message.js';
import { keyOf } from '../driver/assignment.js';
import { detached } from 'nest-handlers/context';
import type { Clock, Timer } from 'nest-handlers/time';
import type { Lane, Order, Waiting } from './lanes.js';
import { PartitionWork, type Room, type WorkOwner } from './partition-work.js';
import type { Pauses } from './pauses.js';
import { RunSignal } from './run-signal.js';

/** A message to handle. */
export interface Delivery extends TopicPartition {
  readonly message: LogMessage;
  /** 1 for the first run in this process. */
  readonly attempt: number;
  /** Absent if it came back through nest-dq. */
  readonly work?: PartitionWork;
}

/**
 * Outcome of a run for one message: finished (handled, or passed elsewhere, such as to a dead-letter topic), or due to run again
 * in `after` ms, ahead of any later message that must not overtake it.
 */
export type Outcome = 'handled' | { readonly after: number };

/** A partition lost while handlers were running. */
export interface CutPartition extends TopicPartition {
  readonly runs: number;
}

/** Options for turning messages into runs. */
export interface WorkOptions {
  readonly order: Order;
  /** Max concurrent runs across all partitions of this process. */
  readonly concurrency: number;
  /** Max messages per run, all from one partition. */
  readonly size: number;
  /** How long a run waits to fill up, in ms. */
  readonly within: number;
  readonly room: Room;
  /** Called when a message has stalled its partition. Absent if stalls are intended. */
  stalled?(stall: Stall): void;
  /** Called when messages were deleted from the log before they could be handled. */
  skipped?(skip: Skip): void;
  /**
   * Handles messages. Returns an outcome for each, in order, synchronously if all are already known. Neither throws nor rejects.
   * @param run Signal of the run, aborted when the partition is lost or the process stops waiting for the run.
   */
  run(deliveries: readonly Delivery[], run: RunSignal): Ran;
}

/** The message that stalls its partition. */
export interface Stall extends TopicPartition {
  readonly offset: bigint;
  /** Number of later messages of the partition held in this process. */
  readonly behind: number;
  /** Min time it has stalled the partition, in ms. */
  readonly after: number;
}

/** Offsets no longer in the log. */
export interface Skip extends TopicPartition {
  /** First offset. */
  readonly from: bigint;
  /** Offset after the last one. */
  readonly to: bigint;
}

/** The outcomes of a run, or a promise of them. */
export type Ran = Promise<readonly Outcome[]> | readonly Outcome[];

/** How long a partition must be full, with the same first message, before it is reported as stalled. */
const STALL_MS = 10_000;

/**
 * How long gaps are still filled after a rebalance or a stop has begun. A gap is an unstarted message with a lower offset than
 * one already started. The committed offset can't move past a gap, so everything after an unfilled one is repeated.
 */
export const FILL_LIMIT_MS = 1_000;

export class TopicWork {
  private readonly partitions = new Map<string, PartitionWork>();
  /** Partitions that may have something to run, served round-robin. */
  private turns: PartitionWork[] = [];
  private readonly running = new Map<Promise<void>, PartitionWork>();
  /** Timers of held lanes and of runs waiting to fill up. */
  private readonly timers = new Set<Timer>();
  private stopping = false;
  /** Whether the group is rebalancing. */
  private rejoining = false;
  /** Clock time until which gaps are filled during a rebalance or a stop. */
  private fillUntil = 0;
  private beginning = false;
  private beginAgain = false;

  constructor(
    private readonly options: WorkOptions,
    private readonly member: Pick<LogMember, 'pause' | 'resume'>,
    private readonly clock: Clock,
    private readonly pauses: Pick<Pauses, 'has'>,
    /** Called when a watermark may have moved. */
    private readonly moved: () => void,
    private readonly owner: WorkOwner,
  ) {}

  /** Work of the assigned partitions. */
  get works(): Iterable<PartitionWork> {
    return this.partitions.values();
  }

  get runs(): number {
    return this.running.size;
  }

  /**
   * Until `assigned`, starts only messages that fill gaps. Resolves once nothing is running or `assigned` has been called.
   * @param fill Time for filling gaps, in ms.
   */
  async rejoin(fill: number): Promise<void> {
    this.rejoining = true;
    this.fillUntil = this.clock.now() + fill;
    // Runs of partitions lost earlier aren't waited for.
    const own = () => [...this.running].filter(([, { lost }]) => !lost).map(([run]) => run);
    while (this.rejoining && own().length > 0) await Promise.all(own());
    this.fillUntil = 0;
  }

  /**
   * @param keep Whether the local state of partitions that stay assigned is still valid.
   * @returns Partitions lost while their handlers were, or may have been, running.
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
      work.paused = false; // an assignment resets pauses
      this.fetch(work);
    }
    this.begin();
    return cut;
  }

  /** Called when the group has confirmed that the partitions are still assigned to this process. */
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
    this.moved(); // skipped offsets may have moved the watermark
    this.begin();
  }

  /** Applies changed pauses. Paused topics aren't fetched and start nothing; current runs continue. */
  pausesChanged(): void {
    for (const work of this.works) this.fetch(work);
    this.begin();
  }

  /**
   * From now on, starts only messages that fill gaps. Resolves once nothing is running. Idempotent.
   * @param fill Time for filling gaps, in ms.
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

  /** Aborts the current runs; nothing waits for them any more. */
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
    if (this.beginning) return; // a handler paused or resumed something; the outer call loops again
    this.beginning = true;
    while (this.beginAgain) {
      this.beginAgain = false;
      detached(() => this.beginOnce()); // drops the context of the request that resumed the topic, if any; per run, this would add a fifth to the time per message
    }
    this.beginning = false;
  }

  private beginOnce(): void {
    // Makes one pass over the current turns. A partition that is paused, or waits for more messages, goes to the end.
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

  /** Returns true if the run ended synchronously. */
  private start(work: PartitionWork, taken: readonly Waiting[]): boolean {
    const { topic, partition } = work.place; // not `...work.place` in each delivery: the spread took a third of the time per message
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

  /** Pauses or resumes fetching a partition, depending on how much it holds. */
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

  /** Reports each message that stalls its partition, once. */
  private watch(work: PartitionWork): void {
    if (!this.options.stalled || work.watched) return;
    work.watched = true;
    const { watermark } = work;
    this.later(STALL_MS, () => {
      work.watched = false;
      if (work.lost || !work.paused || this.pauses.has(work.place.topic)) return;
      if (work.watermark !== undefined && work.watermark === watermark && work.stalledAt !== watermark) {
        work.stalledAt = watermark;
        this.options.stalled!({ ...work.place, offset: watermark, behind: work.ahead - 1, after: STALL_MS });
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
