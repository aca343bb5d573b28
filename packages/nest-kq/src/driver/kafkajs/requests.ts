/** How messages are shared out among requests that the brokers take. */
import { partitionOf } from '../partitioning.js';
import { KqError } from '../../errors.js';
import { noPartition } from './kafkajs-errors.js';
import type { Leaders } from './topics.js';
import { pairsOf, type OutgoingMessage } from '../message.js';

/** A message with its partition, and its place among those of the call. */
export interface Placed {
  readonly index: number;
  readonly partition: number;
  readonly message: OutgoingMessage;
}

/** kafkajs needs time by the square of the messages of a partition. */
const MOST_MESSAGES = 500;
/** Of a partition: the brokers' own limit holds for what we send to one partition at once, and is 1,048,588 by default. */
const MOST_BYTES = 900_000;
const OVERHEAD = 32;

/**
 * Chooses each message's partition, once: kafkajs would choose anew when it tries again.
 * @param keyless The partition of a message without a key; any number.
 */
export function place(
  topic: string,
  messages: readonly OutgoingMessage[],
  leaders: Leaders,
  keyless: number,
): { placed: Placed[]; wrong: Map<number, KqError> } {
  const placed: Placed[] = [];
  const wrong = new Map<number, KqError>();
  messages.forEach((message, index) => {
    const partition = partitionFor(message, leaders, keyless);
    if (isPartition(partition, leaders)) placed.push({ index, partition, message });
    else wrong.set(index, noPartition(topic, partition, leaders.of.length));
  });
  return { placed, wrong };
}

/** The one that it names, that of its key, or the next one that has a leader; it may not be there. */
export function partitionFor(
  { key, partition }: OutgoingMessage,
  { of, led }: Leaders,
  keyless: number,
): number {
  return partition ?? (key ? partitionOf(key, of.length) : led[keyless % led.length]!);
}

export function isPartition(partition: number, { of }: Leaders): boolean {
  return partition >= 0 && partition < of.length && Number.isInteger(partition);
}

/** The message is at fault, not the brokers. */
export function isWrong({ code }: KqError): boolean {
  return code === 'KQ_TOO_LARGE' || code === 'KQ_BAD_MESSAGE';
}

/** In parts, one to be sent after the other, which hold no more of a partition than one request may. */
export function* requestsOf(placed: readonly Placed[]): Generator<Placed[]> {
  let request: Placed[] = [];
  let loads = new Map<number, { messages: number; bytes: number }>();
  for (const each of placed) {
    const bytes = bytesOf(each.message);
    const load = loads.get(each.partition) ?? { messages: 0, bytes: 0 };
    if (load.messages > 0 && (load.messages >= MOST_MESSAGES || load.bytes + bytes > MOST_BYTES)) {
      yield request;
      request = [];
      loads = new Map();
      load.messages = load.bytes = 0;
    }
    loads.set(each.partition, { messages: load.messages + 1, bytes: load.bytes + bytes });
    request.push(each);
  }
  if (request.length > 0) yield request;
}

/**
 * How many of these, which are of one partition, a request may have.
 * @param room The bytes that are left in it; less after the call.
 * @param empty Whether it has nothing else: then it takes one message, however large.
 */
export function fits(waiting: readonly Placed[], room: { bytes: number }, empty: boolean): number {
  const most = Math.min(MOST_BYTES, room.bytes);
  let bytes = 0;
  let count = 0;
  for (; count < waiting.length && count < MOST_MESSAGES; count++) {
    const more = bytes + bytesOf(waiting[count]!.message);
    if (more > most && (count > 0 || !empty)) break;
    bytes = more;
  }
  room.bytes -= bytes;
  return count;
}

/** In groups that have the same value. */
export function groupBy<P extends Placed, T>(placed: readonly P[], valueOf: (partition: number) => T): P[][] {
  const groups = new Map<T, P[]>();
  for (const each of placed) {
    const value = valueOf(each.partition);
    const group = groups.get(value);
    if (group) group.push(each);
    else groups.set(value, [each]);
  }
  return [...groups.values()];
}

/** What it takes in a request, about. */
export function bytesOf({ key, value, headers = {} }: OutgoingMessage): number {
  let bytes = OVERHEAD + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, value] of pairsOf(headers)) bytes += name.length + value.length + 4;
  return bytes;
}
