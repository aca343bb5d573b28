/** The partitions that a member reads, from one assignment to the next, and how kafkajs waits with those that are paused. */
import type { Consumer } from 'kafkajs';
import type { Clock } from 'nest-handlers/time';
import { keyOf } from '../assignment.js';
import type { TopicPartition } from '../message.js';
import { Holds } from './holds.js';
import { Reading } from './reading.js';

/** How long a paused partition may hold up the others of its broker, before kafkajs pauses it, too. */
const SHORT_HOLD = 20;

/** As kafkajs has them; an offset of -1: nothing is committed. */
export interface FoundOffsets {
  readonly responses: readonly {
    readonly topic: string;
    readonly partitions: readonly { readonly partition: number; readonly offset: string }[];
  }[];
}

export class Readings {
  private readonly holds: Holds;
  /** What the member may read and commit now. Undefined: it joins, or has left. */
  private current: Map<string, Reading> | undefined;
  /** What it had last, to be told to the group. */
  private readonly last = new Map<string, Reading>();
  private delivering: Reading | undefined;
  /** By partition, what the group had committed when it was asked last. */
  private readonly committed = new Map<string, bigint>();

  constructor(
    private readonly consumer: Pick<Consumer, 'pause' | 'resume'>,
    private readonly clock: Clock,
    private readonly heartbeatInterval: number,
  ) {
    this.holds = new Holds(clock);
  }

  /** Undefined: the member may not read it now. */
  of(place: TopicPartition): Reading | undefined {
    return this.current?.get(keyOf(place));
  }

  /** Whether the member had it last, also while it joins. */
  owns(place: TopicPartition): boolean {
    return this.last.has(keyOf(place));
  }

  /** What the member had last, also while it joins. */
  owned(): readonly TopicPartition[] {
    return [...this.last.values()].map(({ topic, partition }) => ({ topic, partition }));
  }

  /** Begins with an assignment. What was there before goes on from its position. */
  assign(places: readonly TopicPartition[]): readonly Reading[] {
    const readings = new Map<string, Reading>();
    for (const place of places) readings.set(keyOf(place), new Reading(place, this.last.get(keyOf(place))));
    for (const reading of this.last.values()) this.release(reading);
    this.last.clear();
    for (const [key, reading] of readings) this.last.set(key, reading);
    this.current = readings;
    return [...readings.values()];
  }

  /** What the group has committed. */
  found({ responses }: FoundOffsets): void {
    for (const { topic, partitions } of responses)
      for (const { partition, offset } of partitions)
        // kafkajs itself makes it -1 where the log does not have it any more, and asks again.
        if (BigInt(offset) >= 0n) this.committed.set(keyOf({ topic, partition }), BigInt(offset));
  }

  /** The offset that comes next of it; undefined: the group has committed none. */
  nextOf(reading: Reading): bigint | undefined {
    return reading.position ?? this.committed.get(keyOf(reading));
  }

  /** The assignment is over. */
  end(): void {
    this.current = undefined;
    this.holds.wake();
  }

  pause(place: TopicPartition): void {
    const reading = this.of(place);
    if (!reading || reading.paused) return;
    reading.paused = true;
    // The batch that is delivered now is held instead, as a pause of kafkajs takes a while to end.
    if (reading !== this.delivering) this.hold(reading);
  }

  resume(place: TopicPartition): void {
    const reading = this.of(place);
    if (!reading?.paused) return;
    reading.paused = false;
    if (!reading.starting) this.release(reading);
    this.holds.wake();
  }

  /** Nothing of it is read until `started`. */
  starts(reading: Reading): void {
    reading.starting = true;
    this.hold(reading);
  }

  started(reading: Reading): void {
    reading.starting = false;
    if (!reading.paused) this.release(reading);
  }

  /** Gives a batch to the handler by `give`. If the handler pauses its partition, `waitWhilePaused` is to follow. */
  deliver(reading: Reading, give: () => void): void {
    this.delivering = reading;
    try {
      give();
    } finally {
      this.delivering = undefined;
    }
  }

  /** Resolves at once where it is not paused. */
  async waitWhilePaused(reading: Reading, heartbeat: () => Promise<void>): Promise<void> {
    const short = this.clock.now() + SHORT_HOLD;
    const waits = () => reading.paused && this.of(reading) === reading;
    while (waits()) {
      const left = this.allPaused() ? this.heartbeatInterval : short - this.clock.now();
      if (left <= 0) return this.hold(reading);
      await this.holds.hold(left);
      if (waits()) await heartbeat();
    }
  }

  /** While all are paused, nothing else could be fetched, and a hold ends sooner than a pause of kafkajs. */
  private allPaused(): boolean {
    return [...(this.current?.values() ?? [])].every(({ paused }) => paused);
  }

  private hold(reading: Reading): void {
    if (reading.held) return;
    reading.held = true;
    this.consumer.pause([{ topic: reading.topic, partitions: [reading.partition] }]);
  }

  private release(reading: Reading): void {
    if (!reading.held) return;
    reading.held = false;
    this.consumer.resume([{ topic: reading.topic, partitions: [reading.partition] }]);
  }
}
