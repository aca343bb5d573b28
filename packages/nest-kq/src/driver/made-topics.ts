/** Topics this library creates for failed messages. */
import { createHash } from 'node:crypto';
import type { TopicSettings } from './driver.js';

const LONGEST = 249;
const DEAD = 'kq-dead';
const MADE = /\.kq-(dead|retry-\d+(ms|s|m|h|d))$/;

/** Returns the default dead letter topic of a group. */
export function deadTopicOf(topic: string, group: string): string {
  return nameOf(topic, group, DEAD);
}

/** Whether the name is that of a dead letter topic, of any group. */
export function isDeadTopic(topic: string): boolean {
  return topic.endsWith(`.${DEAD}`);
}

/** Returns the retry topic of a group. `delay` is in ms. */
export function retryTopicOf(topic: string, group: string, delay: number): string {
  return nameOf(topic, group, `kq-retry-${spelled(delay)}`);
}

/**
 * Whether this library creates the topic. No expression covers it, or a group would run its own dead letters endlessly; a name
 * may.
 */
export function isMade(topic: string): boolean {
  return MADE.test(topic);
}

/** Retention in ms. Dead letters must still be there when somebody looks, so the brokers' default, often a week, is too short. */
const KEPT_MS = 30 * 86_400_000;
/** Max bytes of a message. A letter adds headers to its message, which the original topic has already limited. */
const MAX_BYTES = 100 * 2 ** 20;

/** @param like The topic of the original messages. */
export function settingsOf(topic: string, like: string): TopicSettings {
  const config = {
    'cleanup.policy': 'delete',
    'retention.ms': String(KEPT_MS),
    'max.message.bytes': String(MAX_BYTES),
  };
  return { topic, like, config };
}

/** Returns a topic name from a group name, which may contain characters that topics can't. */
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
