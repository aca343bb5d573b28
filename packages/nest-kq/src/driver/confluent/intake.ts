/** What a member has taken from its client's queue, until its handler gets it; in one assignment. */
import { keyOf } from '../assignment.js';
import type { MemberHandler } from '../driver.js';
import { headersOf, type LogMessage, type TopicPartition } from '../message.js';
import type { ConfluentMessage, PlaceWithOffset } from './confluent-api.js';

class Reading {
  paused = false;
  /** Not delivered yet. */
  messages: LogMessage[] = [];

  constructor(
    readonly place: TopicPartition,
    /** The offset after all that was taken, and its gaps. */
    public next: bigint,
    /** What the handler knows of that. */
    public told = next,
  ) {}
}

export class Intake {
  private readonly readings = new Map<string, Reading>();

  constructor(
    /** With the offsets at which they begin; at the latest. */
    places: readonly (TopicPartition & { readonly offset: bigint })[],
    private readonly handler: MemberHandler,
    /** The offset after the last message of a partition. */
    private readonly endOf: (place: TopicPartition) => bigint,
  ) {
    for (const { topic, partition, offset } of places)
      this.readings.set(keyOf({ topic, partition }), new Reading({ topic, partition }, offset));
  }

  get paused(): readonly TopicPartition[] {
    return [...this.readings.values()].filter(({ paused }) => paused).map(({ place }) => place);
  }

  has(place: TopicPartition): boolean {
    return this.readings.has(keyOf(place));
  }

  /** @returns Whether it was not paused before. */
  pause(place: TopicPartition): boolean {
    const reading = this.readings.get(keyOf(place));
    if (!reading || reading.paused) return false;
    return (reading.paused = true);
  }

  /** What it has comes with the next `flush`. @returns Whether it was paused before. */
  resume(place: TopicPartition): boolean {
    const reading = this.readings.get(keyOf(place));
    if (!reading?.paused) return false;
    reading.paused = false;
    return true;
  }

  take(message: ConfluentMessage): void {
    const reading = this.readings.get(keyOf(message));
    if (!reading) return;
    reading.messages.push(readMessage(message));
    reading.next = BigInt(message.offset) + 1n;
  }

  /** Up to there, all that is left are gaps. */
  takeEnd(end: PlaceWithOffset): void {
    const reading = this.readings.get(keyOf(end));
    if (reading) reading.next = BigInt(end.offset);
  }

  /** Delivers what was taken, save that of partitions that are paused. */
  flush(): void {
    for (const reading of this.readings.values()) {
      const { place, messages, next, told } = reading;
      if (reading.paused || next === told) continue;
      reading.messages = [];
      reading.told = next;
      const end = this.endOf(place);
      this.handler.batch({ ...place, messages, next, end: end > next ? end : next });
    }
  }
}

export function readMessage({ offset, timestamp, key, value, headers = [] }: ConfluentMessage): LogMessage {
  return { offset: BigInt(offset), timestamp, key, value, headers: headersOf(headers.map(pairOf)) };
}

/** Their client sets a property, which for `__proto__` makes the value the prototype of an object that stays empty. */
function pairOf(header: Readonly<Record<string, unknown>>): [name: string, value: Buffer | null] {
  const [[name, value] = ['__proto__', Object.getPrototypeOf(header)]] = Object.entries(header);
  return [name, Buffer.isBuffer(value) ? value : typeof value === 'string' ? Buffer.from(value) : null];
}
