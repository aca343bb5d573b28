/** Messages a member has taken from its client's queue and not yet delivered, within one assignment. */
import { keyOf } from '../assignment.js';
import type { MemberHandler } from '../driver.js';
import { headersOf, type LogMessage, type TopicPartition } from '../message.js';
import type { ConfluentMessage, PlaceWithOffset } from './confluent-api.js';

/** Approximate bytes of a message in addition to its key and value. */
const OVERHEAD_BYTES = 64;

class Reading {
  /** Paused by the handler. */
  paused = false;
  /** Paused at the client, too. */
  held = false;
  /** Not delivered yet. */
  messages: LogMessage[] = [];
  /** Approximate bytes of these messages. */
  bytes = 0;

  constructor(
    readonly place: TopicPartition,
    /** Offset after everything taken, gaps included. */
    public next: bigint,
    /** The part of that reported to the handler. */
    public told = next,
  ) {}
}

/**
 * A pause by the handler isn't one of the client: the client would discard what it has prefetched of the partition, and fetch it
 * again after the pause, which is often over at once. So its messages are kept here meanwhile, up to a limit.
 */
export class Intake {
  private readonly readings = new Map<string, Reading>();

  constructor(
    /** With the offsets at which they start, or later. */
    places: readonly (TopicPartition & { readonly offset: bigint })[],
    private readonly handler: MemberHandler,
    /** Returns the offset after the last message of a partition. */
    private readonly endOf: (place: TopicPartition) => bigint,
  ) {
    for (const { topic, partition, offset } of places)
      this.readings.set(keyOf({ topic, partition }), new Reading({ topic, partition }, offset));
  }

  /** Partitions the client must resume before a new assignment. */
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
   * Resumes a partition; its messages come with the next `flush`.
   * @returns `flush`: there are messages. `held`: the client must resume it.
   */
  resume(place: TopicPartition): { readonly flush: boolean; readonly held: boolean } {
    const reading = this.readings.get(keyOf(place));
    if (!reading?.paused) return { flush: false, held: false };
    const { held, next, told } = reading;
    reading.paused = reading.held = false;
    return { flush: next !== told, held };
  }

  /** Takes messages in the order given by the client. */
  take(messages: readonly ConfluentMessage[]): void {
    let reading: Reading | undefined;
    for (const message of messages) {
      const { topic, partition, key, value } = message;
      if (reading?.place.partition !== partition || reading.place.topic !== topic)
        reading = this.readings.get(keyOf(message));
      if (!reading) continue;
      const read = readMessage(message);
      reading.messages.push(read);
      reading.bytes += OVERHEAD_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
      if (read.offset >= reading.next) reading.next = read.offset + 1n;
    }
  }

  /** Marks everything left up to this offset as gaps. May come before the messages that end there. */
  takeEnd(end: PlaceWithOffset): void {
    const reading = this.readings.get(keyOf(end));
    if (reading && reading.next < end.offset) reading.next = BigInt(end.offset);
  }

  /** Delivers what was taken, except for paused partitions. */
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

  /** Returns paused partitions that hold this many bytes: the client must pause them, too. */
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

/** Their client assigns a property, which for `__proto__` sets the prototype of an otherwise empty object. */
function pairOf(header: Readonly<Record<string, unknown>>): [name: string, value: Buffer | null] {
  const [[name, value] = ['__proto__', Object.getPrototypeOf(header)]] = Object.entries(header);
  return [name, Buffer.isBuffer(value) ? value : typeof value === 'string' ? Buffer.from(value) : null];
}
