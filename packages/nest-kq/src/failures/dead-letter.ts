/** A message that no run could handle, as it is stored in another topic. */
import type { Delivery } from '../consumer/topic-work.js';
import type { Headers, OutgoingMessage } from '../driver/message.js';
import type { Death } from '../events/events.js';

/** What the headers of a dead letter say, in UTF-8, beside the message's own. */
export const DEAD_LETTER_HEADERS = {
  /** Where the message was. */
  topic: 'kq-topic',
  partition: 'kq-partition',
  /** Decimal digits. */
  offset: 'kq-offset',
  /** The message's own time, in milliseconds since 1970. A letter's is when it was stored, as topics forget by that. */
  timestamp: 'kq-timestamp',
  /** Which group could not handle it. */
  group: 'kq-group',
  /** The runs that it had in the process which gave it up. */
  attempts: 'kq-attempts',
  /** `attempts`, `discarded` or `unreadable`. */
  why: 'kq-why',
  errorName: 'kq-error-name',
  /** Up to 2,000 characters. */
  errorMessage: 'kq-error-message',
  /** The first 10 lines of it, up to 2,000 characters. */
  errorStack: 'kq-error-stack',
  /** When it became a dead letter, such as 2030-01-01T00:00:00.000Z. */
  time: 'kq-time',
} as const;

const NAMES = new Set<string>(Object.values(DEAD_LETTER_HEADERS));
const LENGTH = 2_000;
const LINES = 10;

/** Key, value and headers as they were; headers of a letter that it was before are replaced. */
export function deadLetterOf(
  { topic, partition, message }: Delivery,
  { why, error, runs }: Death,
  group: string,
  time: number,
): OutgoingMessage {
  const { key, value, headers, offset, timestamp } = message;
  const said: Record<keyof typeof DEAD_LETTER_HEADERS, string> = {
    topic,
    partition: String(partition),
    offset: String(offset),
    timestamp: String(timestamp),
    group,
    attempts: String(runs),
    why,
    errorName: error.name,
    errorMessage: error.message.slice(0, LENGTH),
    errorStack: (error.stack ?? '').split('\n').slice(0, LINES).join('\n').slice(0, LENGTH),
    time: new Date(time).toISOString(),
  };
  const own = Object.entries(said).map(([name, text]): [string, Buffer] => [
    DEAD_LETTER_HEADERS[name as keyof typeof said],
    Buffer.from(text),
  ]);
  return { key, value, headers: { ...withoutLetter(headers), ...Object.fromEntries(own) } };
}

/** The headers that the message had before it became a letter. */
export function withoutLetter(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !NAMES.has(name)));
}
