import { checkPayload, type Checked } from 'nest-handlers/schema';
import { KqError } from '../errors.js';
import { decodeValue } from './format.js';
import { refusalOf } from './schema.js';
import { formatOf, schemaOf, type Topic } from './topic.js';

/** The value as a handler gets it, or why it gets none: `KQ_BAD_MESSAGE`. */
export type ReadValue = Checked<KqError>;

/**
 * A stored value, checked by the topic's schema; a tombstone is not checked. Throws or rejects with what the schema throws.
 * Returns a promise only if the schema does.
 * @param name Of the topic where the message lies.
 */
export function readValue(
  topic: string | Topic,
  name: string,
  stored: Buffer | null,
): ReadValue | PromiseLike<ReadValue> {
  let payload: unknown;
  try {
    payload = decodeValue(formatOf(topic), stored);
  } catch (error) {
    if (error instanceof KqError) return error;
    throw error;
  }
  const schema = schemaOf(topic);
  return schema && stored !== null ? checkPayload(schema, payload, refusalOf(name)) : { payload };
}
