/** Splits messages into requests that the brokers accept. */
import type { KqError } from '../../errors.js';
import { pairsOf, type OutgoingMessage } from '../message.js';
import type { Placed } from '../placing.js';

/** Max messages of a partition in a request, since kafkajs is quadratic in them. */
const MAX_MESSAGES = 500;
/**
 * Max bytes of a partition in a request: the brokers' limit applies to what is sent to one partition at once, 1,048,588 by
 * default.
 */
const MAX_BYTES = 900_000;
const OVERHEAD_BYTES = 32;

/** Whether the message is at fault rather than the brokers. */
export function isWrong({ code }: KqError): boolean {
  return code === 'KQ_TOO_LARGE' || code === 'KQ_BAD_MESSAGE';
}

/** Yields parts to send one after the other, each within the limits of a partition per request. */
export function* requestsOf(placed: readonly Placed[]): Generator<Placed[]> {
  let request: Placed[] = [];
  let loads = new Map<number, { messages: number; bytes: number }>();
  for (const each of placed) {
    const bytes = bytesOf(each.message);
    const load = loads.get(each.partition) ?? { messages: 0, bytes: 0 };
    if (load.messages > 0 && (load.messages >= MAX_MESSAGES || load.bytes + bytes > MAX_BYTES)) {
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
 * Returns how many of these messages of one partition fit in a request.
 * @param room Bytes left in it; reduced by the call.
 * @param empty Whether it has nothing else: then it takes one message, however large.
 */
export function fits(waiting: readonly Placed[], room: { bytes: number }, empty: boolean): number {
  const most = Math.min(MAX_BYTES, room.bytes);
  let bytes = 0;
  let count = 0;
  for (; count < waiting.length && count < MAX_MESSAGES; count++) {
    const more = bytes + bytesOf(waiting[count]!.message);
    if (more > most && (count > 0 || !empty)) break;
    bytes = more;
  }
  room.bytes -= bytes;
  return count;
}

/** Groups messages with the same value. */
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

/** Returns the approximate size of a message in a request, in bytes. */
export function bytesOf({ key, value, headers = {} }: OutgoingMessage): number {
  let bytes = OVERHEAD_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, value] of pairsOf(headers)) bytes += name.length + value.length + 4;
  return bytes;
}
