/** What a member has taken from its client's queue, until its handler gets it; in one assignment. */
import { keyOf } from '../assignment.js';
import type { MemberHandler } from '../driver.js';
import { headersOf, type LogMessage, type TopicPartition } from '../message.js';
import type { ConfluentMessage, PlaceWithOffset } from './confluent-api.js';

/** Of one message beside its key and its value, about, in bytes. */
const OVERHEAD = 64;

class Reading {
  /** By the handler. */
  paused = false;
  /** By the client, too. */
  held = false;
  /** Not delivered yet. */
  messages: LogMessage[] = [];
  /** Of these messages, about. */
  bytes = 0;

  constructor(
    readonly place: TopicPartition,
    /** The offset after all that was taken, and its gaps. */
    public next: bigint,
    /** What the handler knows of that. */
    public told = next,
  ) {}
}

/**
 * A pause of the handler is none of the client: the client would throw away what it has fetched of the partition, and fetch it
 * again after the pause, which is often over at once. So what comes of the partition meanwhile stays here, up to a limit.
 */
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

  /** What the client has to resume before it can be assigned anew. */
  get held(): readonly TopicPartition[] {
    return [...this.readings.values()].filter(({ held }) => held).map(({ place }) => place);
  }

  has(place: TopicPartition): boolean {
    return this.readings.has(keyOf(place));
  }

  pause(place: TopicPartition): void {
    const reading = this.readings.get(keyOf(place));
    if (reading) reading.paused = true;
  }

  /**
   * What it has comes with the next `flush`.
   * @returns `flush`: there is something. `held`: the client has to resume it.
   */
  resume(place: TopicPartition): { readonly flush: boolean; readonly held: boolean } {
    const reading = this.readings.get(keyOf(place));
    if (!reading?.paused) return { flush: false, held: false };
    const { held, next, told } = reading;
    reading.paused = reading.held = false;
    return { flush: next !== told, held };
  }

  /** In the order in which the client gave them. */
  take(messages: readonly ConfluentMessage[]): void {
    let reading: Reading | undefined;
    for (const message of messages) {
      const { topic, partition, key, value } = message;
      if (reading?.place.partition !== partition || reading.place.topic !== topic)
        reading = this.readings.get(keyOf(message));
      if (!reading) continue;
      const read = readMessage(message);
      reading.messages.push(read);
      reading.bytes += OVERHEAD + (key?.length ?? 0) + (value?.length ?? 0);
      if (read.offset >= reading.next) reading.next = read.offset + 1n;
    }
  }

  /** Up to there, all that is left are gaps. It may come before the messages that end there. */
  takeEnd(end: PlaceWithOffset): void {
    const reading = this.readings.get(keyOf(end));
    if (reading && reading.next < end.offset) reading.next = BigInt(end.offset);
  }

  /** Delivers what was taken, save that of partitions that are paused. */
  flush(): void {
    for (const reading of this.readings.values()) {
      const { place, messages, next, told } = reading;
      if (reading.paused || next === told) continue;
      reading.messages = [];
      reading.bytes = 0;
      reading.told = next;
      const end = this.endOf(place);
      this.handler.batch({ ...place, messages, next, end: end > next ? end : next });
    }
  }

  /** Paused partitions of which so many bytes are here: the client has to pause them, too. */
  hold(most: number): readonly TopicPartition[] {
    const full = [...this.readings.values()].filter(
      (each) => each.paused && !each.held && each.bytes >= most,
    );
    for (const each of full) each.held = true;
    return full.map(({ place }) => place);
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
