/** A message that no run could handle, or none up to now, as it is stored in another topic. */
import type { Delivery } from '../consumer/topic-work.js';
import { FOR_GROUP } from '../driver/addressing.js';
import type { Headers, LogMessage, OutgoingMessage } from '../driver/message.js';
import type { Death } from '../events/events.js';

/** What the headers of a dead letter, or of a message in a retry topic, say in UTF-8, beside the message's own. */
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
  /** The runs that it had: in place those in the process which gave it up, through retry topics all. */
  attempts: 'kq-attempts',
  /** `attempts`, `notRetried`, `discarded` or `unreadable`; `retry` in a retry topic. */
  why: 'kq-why',
  errorName: 'kq-error-name',
  /** Up to 2,000 characters. */
  errorMessage: 'kq-error-message',
  /** The first 10 lines of it, up to 2,000 characters. */
  errorStack: 'kq-error-stack',
  /** When it was stored here, such as 2030-01-01T00:00:00.000Z. */
  time: 'kq-time',
  /** Only in a retry topic: when it runs again, in milliseconds since 1970. */
  due: 'kq-due',
} as const;

/** A letter says who failed, and is for whoever reads its topic. */
const NAMES = new Set<string>([...Object.values(DEAD_LETTER_HEADERS), FOR_GROUP]);
const LENGTH = 2_000;
const LINES = 10;

/** Key, value and headers as they were; headers of a letter that it was before are replaced. */
export function deadLetterOf(delivery: Delivery, death: Death, group: string, time: number): OutgoingMessage {
  return letterOf(delivery, { ...death, group, time });
}

/** For a retry topic. `time`: now; `due`: when it runs again. */
export function retryLetterOf(delivery: Delivery, said: Omit<Said, 'why'>): OutgoingMessage {
  return letterOf(delivery, { ...said, why: 'retry' });
}

interface Said {
  readonly why: string;
  readonly error: Error;
  readonly runs: number;
  readonly group: string;
  readonly time: number;
  readonly due?: number;
}

function letterOf({ topic, partition, message }: Delivery, said: Said): OutgoingMessage {
  const { why, error, runs, group, time, due } = said;
  const { key, value, headers, offset, timestamp } = message;
  const texts: Partial<Record<keyof typeof DEAD_LETTER_HEADERS, string>> = {
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
    ...(due !== undefined && { due: String(due) }),
  };
  const own = Object.entries(texts).map(([name, text]): [string, Buffer] => [
    DEAD_LETTER_HEADERS[name as keyof typeof texts],
    Buffer.from(text),
  ]);
  return { key, value, headers: { ...withoutLetter(headers), ...Object.fromEntries(own) } };
}

/** The headers that the message had before it became a letter. */
export function withoutLetter(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !NAMES.has(name)));
}

/** A message of a retry topic. */
export interface WaitingLetter {
  /** When it runs again, in milliseconds since 1970; of a message that somebody else has put there, 0. */
  readonly due: number;
  /** The runs that it had. */
  readonly runs: number;
  readonly partition: number;
  /** As it was in its own topic. */
  readonly message: LogMessage;
}

/** Takes a message of a retry topic apart; what its headers do not say is that of the letter itself. */
export function waitingLetterOf({
  partition,
  message,
}: Pick<Delivery, 'partition' | 'message'>): WaitingLetter {
  const number = (name: keyof typeof DEAD_LETTER_HEADERS): string | undefined => {
    const text = [message.headers[DEAD_LETTER_HEADERS[name]]].flat()[0]?.toString() ?? '';
    return /^\d{1,19}$/.test(text) ? text : undefined;
  };
  const { key, value, headers, offset, timestamp } = message;
  return {
    due: Number(number('due') ?? 0),
    runs: Number(number('attempts') ?? 0),
    partition: Number(number('partition') ?? partition),
    message: {
      key,
      value,
      headers: withoutLetter(headers),
      offset: BigInt(number('offset') ?? offset),
      timestamp: Number(number('timestamp') ?? timestamp),
    },
  };
}
