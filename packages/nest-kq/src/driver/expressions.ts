import { isMade } from './made-topics.js';

/**
 * Whether one of these expressions covers a topic. Kafka's own topics, and those this library creates for failed messages, are
 * covered by name only.
 */
export function matchesAny(topic: string, patterns: readonly RegExp[]): boolean {
  if (topic.startsWith('__') || isMade(topic)) return false;
  return patterns.some((pattern) => topic.search(pattern) >= 0);
}
