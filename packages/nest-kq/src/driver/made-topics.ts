/** The topics that this library makes beside those of an application, for messages that failed. */
import { createHash } from 'node:crypto';
import type { TopicSettings } from './driver.js';

const LONGEST = 249;
const DEAD = 'kq-dead';
const MADE = /\.kq-(dead|retry-\d+(ms|s|m|h|d))$/;

/** Where the dead letters of a group go that names no other place. */
export function deadTopicOf(topic: string, group: string): string {
  return nameOf(topic, group, DEAD);
}

/** Whether it has the name of a topic of dead letters, of any group. */
export function isDeadTopic(topic: string): boolean {
  return topic.endsWith(`.${DEAD}`);
}

/** Where failed messages of a group wait. `delay`: in milliseconds. */
export function retryTopicOf(topic: string, group: string, delay: number): string {
  return nameOf(topic, group, `kq-retry-${spelled(delay)}`);
}

/** No expression means such a topic: a group would run its own dead letters, without end. A name may. */
export function isMade(topic: string): boolean {
  return MADE.test(topic);
}

/** Dead letters are to be there when somebody looks, so the brokers' own retention, which is often a week, is too short. */
const KEPT_MS = 30 * 86_400_000;
/** A letter has headers that its message had not. The message's own topic has a limit already. */
const MOST_BYTES = 100 * 2 ** 20;

/** @param like The topic of the messages. */
export function settingsOf(topic: string, like: string): TopicSettings {
  const config = {
    'cleanup.policy': 'delete',
    'retention.ms': String(KEPT_MS),
    'max.message.bytes': String(MOST_BYTES),
  };
  return { topic, like, config };
}

/** A group may have any name, of which a topic takes a part. */
function nameOf(topic: string, group: string, kind: string): string {
  const plain = `${topic}.${group}.${kind}`;
  if (/^[\w.-]+$/.test(group) && plain.length <= LONGEST) return plain;
  const hash = createHash('sha256').update(`${topic}\n${group}`).digest('hex').slice(0, 12);
  const end = `-${hash}.${kind}`;
  const begin = `${topic}.${group.replaceAll(/[^\w.-]/g, '-')}`;
  return begin.slice(0, LONGEST - end.length) + end;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

function spelled(ms: number): string {
  const [unit, factor] = UNITS.find(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / factor}${unit}`;
}
