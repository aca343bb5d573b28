/** Contents of a dead letter topic: letters, and records of which ones are resolved. */
import { randomUUID } from 'node:crypto';
import { FOR_GROUP } from '../driver/addressing.js';
import type { LogMessage, OutgoingMessage } from '../driver/message.js';
import { DEAD_LETTER_HEADERS, withoutLetter } from '../failures/dead-letter.js';
import type { KqDeadLetter, KqDeadLetterSummary } from './kq-dead-letters.js';

/** The ways to resolve a letter. */
export type Resolution = 'replayed' | 'discarded';

/** The header of a record that resolves letters of its partition: `replayed` or `discarded`. */
export const RESOLVED = 'kq-resolved';

/** Max characters of an error, since foreign headers may be longer. */
const LENGTH = 2_000;

export function headerOf({ headers }: Pick<LogMessage, 'headers'>, name: string): string | undefined {
  const [value] = [headers[name] ?? []].flat();
  return value?.toString();
}

/** Whether it is a dead letter; a message waiting in a retry topic isn't. */
export function isLetter(message: LogMessage): boolean {
  const { headers } = message;
  const { topic, due } = DEAD_LETTER_HEADERS;
  return headers[topic] !== undefined && headers[due] === undefined && headers[RESOLVED] === undefined;
}

/**
 * Returns a record that marks these letters as resolved. It is stored after them in their partition, so retention removes it
 * after them; its key is unique, so compaction never removes it. It is addressed to no group.
 */
export function resolutionOf(
  partition: number,
  offsets: readonly bigint[],
  how: Resolution,
): OutgoingMessage {
  return {
    partition,
    key: Buffer.from(`${RESOLVED}:${randomUUID()}`),
    value: Buffer.from(JSON.stringify({ offsets: offsets.map(String) })),
    headers: {
      [RESOLVED]: Buffer.from(how),
      [FOR_GROUP]: Buffer.alloc(0),
    },
  };
}

/** Returns the letters a message resolves; empty if it isn't such a record, or not one of ours. */
export function resolvedBy(message: LogMessage): readonly bigint[] {
  if (message.headers[RESOLVED] === undefined) return [];
  try {
    const { offsets } = JSON.parse(String(message.value)) as { offsets: unknown };
    const texts = Array.isArray(offsets) ? offsets.filter((each) => /^\d{1,19}$/.test(String(each))) : [];
    return texts.map(BigInt).filter((offset) => offset < message.offset);
  } catch {
    return []; // not ours: treating letters as unresolved is the safe side
  }
}

export function summaryOf(partition: number, message: LogMessage): KqDeadLetterSummary {
  const { topic, group, why, errorName, errorMessage, ...names } = DEAD_LETTER_HEADERS;
  const text = (name: string) => headerOf(message, name);
  const digits = (name: string) => (/^\d{1,19}$/.test(text(name) ?? '') ? text(name) : undefined);
  const from = digits(names.partition);
  const offset = digits(names.offset);
  const attempts = digits(names.attempts);
  return {
    partition,
    offset: String(message.offset),
    origin: {
      topic: text(topic) ?? '',
      ...(from !== undefined && { partition: Number(from) }),
      ...(offset !== undefined && { offset }),
    },
    ...(text(group) !== undefined && { group: text(group) }),
    key: message.key?.toString() ?? null,
    diedAt: new Date(message.timestamp),
    ...(text(why) !== undefined && { why: text(why) }),
    ...(attempts !== undefined && { attempts: Number(attempts) }),
    error: {
      name: text(errorName)?.slice(0, LENGTH) ?? '',
      message: text(errorMessage)?.slice(0, LENGTH) ?? '',
    },
    valueBytes: message.value?.length ?? 0,
  };
}

export function letterOf(partition: number, message: LogMessage, resolved: boolean): KqDeadLetter {
  const { error, ...summary } = summaryOf(partition, message);
  const timestamp = headerOf(message, DEAD_LETTER_HEADERS.timestamp);
  return {
    ...summary,
    error: { ...error, stack: headerOf(message, DEAD_LETTER_HEADERS.errorStack) ?? '' },
    value: message.value,
    headers: withoutLetter(message.headers),
    ...(timestamp !== undefined && { timestamp: Number(timestamp) }),
    resolved,
  };
}

/** Returns the message as it was before it became a letter. `group`: the only group it is addressed to. */
export function revived({ key, value, headers }: LogMessage, group?: string): OutgoingMessage {
  const own = withoutLetter(headers);
  return {
    key,
    value,
    headers: group === undefined ? own : { ...own, [FOR_GROUP]: Buffer.from(group) },
  };
}
