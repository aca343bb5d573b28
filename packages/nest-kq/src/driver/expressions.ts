import { isMade } from './made-topics.js';

/**
 * Whether one of these expressions means a topic: those of Kafka itself, and those that this library makes for messages that
 * failed, can only be named.
 */
export function isMeant(topic: string, patterns: readonly RegExp[]): boolean {
  if (topic.startsWith('__') || isMade(topic)) return false;
  return patterns.some((pattern) => topic.search(pattern) >= 0);
}
