/** How messages are shared out among requests that the brokers take. */
import type { KqError } from '../../errors.js';
import { pairsOf, type OutgoingMessage } from '../message.js';
import type { Placed } from '../placing.js';

/** kafkajs needs time by the square of the messages of a partition. */
const MOST_MESSAGES = 500;
/** Of a partition: the brokers' own limit holds for what we send to one partition at once, and is 1,048,588 by default. */
const MOST_BYTES = 900_000;
const OVERHEAD = 32;

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
