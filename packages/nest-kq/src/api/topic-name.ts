/** Kafka's rule for topic names. */

/** The rule, for error messages. */
export const TOPIC_NAMES = '1 to 249 characters of A-Z a-z 0-9 . _ -, and not . or ..';

const NAME = /^[\w.-]{1,249}$/;

export function isTopicName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name) && name !== '.' && name !== '..';
}
