/** The partitions a member reads, across assignments, and how kafkajs waits while some are paused. */
import type { Consumer } from 'kafkajs';
import type { Clock } from 'nest-handlers/time';
import { keyOf } from '../assignment.js';
import type { TopicPartition } from '../message.js';
import { Holds } from './holds.js';
import { Reading } from './reading.js';

/** How long a paused partition may block the others of its broker before it is paused at kafkajs, too. */
const SHORT_HOLD_MS = 20;

/** In kafkajs' form; an offset of -1 means nothing is committed. */
export interface FoundOffsets {
  readonly responses: readonly {
    readonly topic: string;
    readonly partitions: readonly { readonly partition: number; readonly offset: string }[];
  }[];
}

export class Readings {
  private readonly holds: Holds;
  /** Partitions the member may read and commit now; undefined while joining or out of the group. */
  private current: Map<string, Reading> | undefined;
  /** Partitions it had last, for the group. */
  private readonly last = new Map<string, Reading>();
  private delivering: Reading | undefined;
  /** The group's committed offset by partition, as of the last request. */
  private readonly committed = new Map<string, bigint>();

  constructor(
    private readonly consumer: Pick<Consumer, 'pause' | 'resume'>,
    private readonly clock: Clock,
    private readonly heartbeatInterval: number,
  ) {
    this.holds = new Holds(clock);
  }

  /** Returns undefined if the member may not read it now. */
  of(place: TopicPartition): Reading | undefined {
    return this.current?.get(keyOf(place));
  }

  /** Whether the member had it last, even while joining. */
  owns(place: TopicPartition): boolean {
    return this.last.has(keyOf(place));
  }

  /** Returns what the member had last, even while joining. */
  owned(): readonly TopicPartition[] {
    return [...this.last.values()].map(({ topic, partition }) => ({ topic, partition }));
  }

  /** Starts an assignment. Partitions it had before continue at their position. */
  assign(places: readonly TopicPartition[]): readonly Reading[] {
    const readings = new Map<string, Reading>();
    for (const place of places) readings.set(keyOf(place), new Reading(place, this.last.get(keyOf(place))));
    for (const reading of this.last.values()) this.release(reading);
    this.last.clear();
    for (const [key, reading] of readings) this.last.set(key, reading);
    this.current = readings;
    return [...readings.values()];
  }

  /** Records what the group has committed. */
  found({ responses }: FoundOffsets): void {
    for (const { topic, partitions } of responses)
      for (const { partition, offset } of partitions)
        // kafkajs itself sets it to -1 if it is no longer in the log, and asks again.
        if (BigInt(offset) >= 0n) this.committed.set(keyOf({ topic, partition }), BigInt(offset));
  }

  /** Returns the next offset; undefined if the group has committed none. */
  nextOf(reading: Reading): bigint | undefined {
    return reading.position ?? this.committed.get(keyOf(reading));
  }

  /** Ends the assignment. */
  end(): void {
    this.current = undefined;
    this.holds.wake();
  }

  pause(place: TopicPartition): void {
    const reading = this.of(place);
    if (!reading || reading.paused) return;
    reading.paused = true;
    // A partition being delivered is held with its batch instead, since a pause of kafkajs takes a while to end.
    if (reading !== this.delivering) this.hold(reading);
  }

  resume(place: TopicPartition): void {
    const reading = this.of(place);
    if (!reading?.paused) return;
    reading.paused = false;
    if (!reading.starting) this.release(reading);
    this.holds.wake();
  }

  /** Reads nothing of it until `started`. */
  starts(reading: Reading): void {
    reading.starting = true;
    this.hold(reading);
  }

  started(reading: Reading): void {
    reading.starting = false;
    if (!reading.paused) this.release(reading);
  }

  /** Passes a batch to the handler by `give`. If the handler pauses its partition, `waitWhilePaused` must follow. */
  deliver(reading: Reading, give: () => void): void {
    this.delivering = reading;
    try {
      give();
    } finally {
      this.delivering = undefined;
    }
  }

  /** Resolves immediately if it isn't paused. */
  async waitWhilePaused(reading: Reading, heartbeat: () => Promise<void>): Promise<void> {
    const short = this.clock.now() + SHORT_HOLD_MS;
    const waits = () => reading.paused && this.of(reading) === reading;
    while (waits()) {
      const left = this.allPaused() ? this.heartbeatInterval : short - this.clock.now();
      if (left <= 0) return this.hold(reading);
      await this.holds.hold(left);
      if (waits()) await heartbeat();
    }
  }

  /** If all are paused, there is nothing else to fetch, and a hold ends sooner than a pause of kafkajs. */
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
