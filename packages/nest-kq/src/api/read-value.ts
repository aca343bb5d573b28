import { checkPayload, type Checked } from 'nest-handlers/schema';
import { KqError } from '../errors.js';
import { decodeValue } from './format.js';
import { refusalOf } from './schema.js';
import { formatOf, schemaOf, type Topic } from './topic.js';

/** The value as the handler gets it, or the `KQ_BAD_MESSAGE` error if it can't be read. */
export type ReadValue = Checked<KqError>;

/**
 * Decodes a stored value and checks it against the topic's schema; a tombstone isn't checked. Throws or rejects with what the
 * schema throws, or with `KQ_REGISTRY`. Returns a promise only if the format or the schema does.
 * @param name The topic that holds the message.
 */
export function readValue(
  topic: string | Topic,
  name: string,
  stored: Buffer | null,
): ReadValue | PromiseLike<ReadValue> {
  let payload: unknown;
  try {
    payload = decodeValue(formatOf(topic), stored, name);
  } catch (error) {
    return refusalIn(error);
  }
  const schema = schemaOf(topic);
  const check = (value: unknown) =>
    schema && stored !== null ? checkPayload(schema, value, refusalOf(name)) : { payload: value };
  return payload instanceof Promise ? payload.then(check, refusalIn) : check(payload);
}

/** `KQ_REGISTRY` says nothing about the message, so it is thrown. */
function refusalIn(error: unknown): KqError {
  if (error instanceof KqError && error.code !== 'KQ_REGISTRY') return error;
  throw error;
}
