/** Messages that couldn't be handled, or not yet, in the form stored in another topic. */
import type { Delivery } from '../consumer/topic-work.js';
import { FOR_GROUP } from '../driver/addressing.js';
import type { Headers, LogMessage, OutgoingMessage } from '../driver/message.js';
import type { Death } from '../events/events.js';

/** Headers of a dead letter or of a message in a retry topic, in UTF-8, in addition to the message's own. */
export const DEAD_LETTER_HEADERS = {
  /** The message's original topic. */
  topic: 'kq-topic',
  partition: 'kq-partition',
  /** Decimal digits. */
  offset: 'kq-offset',
  /** The message's own timestamp, in ms since 1970. A letter's own is when it was stored, since retention goes by that. */
  timestamp: 'kq-timestamp',
  /** The group that couldn't handle it. */
  group: 'kq-group',
  /** Number of runs: in place, those in the process that gave up; through retry topics, all of them. */
  attempts: 'kq-attempts',
  /** `attempts`, `notRetried`, `discarded` or `unreadable`; `retry` in a retry topic. */
  why: 'kq-why',
  errorName: 'kq-error-name',
  /** Up to 2,000 characters. */
  errorMessage: 'kq-error-message',
  /** Its first 10 lines, up to 2,000 characters. */
  errorStack: 'kq-error-stack',
  /** Time it was stored here, such as 2030-01-01T00:00:00.000Z. */
  time: 'kq-time',
  /** Only in a retry topic: time of the next run, in ms since 1970. */
  due: 'kq-due',
} as const;

/** Headers stripped from a message: a letter has its own, and isn't addressed to one group. */
const NAMES = new Set<string>([...Object.values(DEAD_LETTER_HEADERS), FOR_GROUP]);
const LENGTH = 2_000;
const LINES = 10;

/** Returns a dead letter with the original key, value and headers; headers of an earlier letter are replaced. */
export function deadLetterOf(delivery: Delivery, death: Death, group: string, time: number): OutgoingMessage {
  return letterOf(delivery, { ...death, group, time });
}

/** Returns a message for a retry topic. `time` is now, `due` the time of the next run. */
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

/** Returns the headers the message had before it became a letter. */
export function withoutLetter(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !NAMES.has(name)));
}

/** A message in a retry topic. */
export interface WaitingLetter {
  /** Time of the next run, in ms since 1970; 0 for a message put there by somebody else. */
  readonly due: number;
  /** Number of runs so far. */
  readonly runs: number;
  readonly partition: number;
  /** The message as it was in its own topic. */
  readonly message: LogMessage;
}

/** Restores the message of a retry topic; what its headers lack is taken from the letter itself. */
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
