import type { StandardSchemaV1 } from '@standard-schema/spec';
import { checkPayload, type Checked } from 'nest-handlers/schema';
import type { TubeCodecs } from '../api/payload-codec.js';
import { decodePayload, type Content } from '../copies/payload.js';
import { DqError, show, toError } from '../errors.js';
import { refusalOf } from '../api/schema.js';
import { isThenable } from 'nest-handlers/context';

/**
 * Throws `DQ_BAD_PAYLOAD` if the tube's schema rejects the payload as a handler would see it, or fails itself. Returns a promise
 * only if the schema is asynchronous. The schema's output is not stored.
 */
export function refuseInvalid(
  schema: StandardSchemaV1,
  content: Content,
  tube: string,
  codecs?: TubeCodecs,
): PromiseLike<void> | undefined {
  let checked: Checked<DqError> | PromiseLike<Checked<DqError>>;
  try {
    checked = checkPayload(schema, decodePayload(content, codecs), refusalOf(tube));
  } catch (thrown) {
    throw failed(tube, thrown);
  }
  if (!isThenable(checked)) return refuse(checked);
  return checked.then(refuse, (thrown: unknown) => {
    throw failed(tube, thrown);
  });
}

function refuse(checked: Checked<DqError>): undefined {
  if (checked instanceof DqError) throw checked;
}

function failed(tube: string, thrown: unknown): DqError {
  const cause = toError(thrown);
  return new DqError('DQ_BAD_PAYLOAD', `the schema of ${show(tube)} failed: ${cause.message}`, { cause });
}
