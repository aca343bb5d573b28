/** The schema check of nest-handlers, applied to a topic. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { isSchema, type Refuse } from 'nest-handlers/schema';
import { KqError, show, wrongValue } from '../errors.js';

/** Returns the schema. `KQ_BAD_OPTION`: it has no `~standard.validate`. */
export function checkSchema(schema: unknown, topic: string): StandardSchemaV1 {
  if (isSchema(schema)) return schema;
  const expected = 'a Standard Schema, such as one from Zod, Valibot or ArkType';
  throw wrongValue('KQ_BAD_OPTION', `the schema of ${show(topic)}`, schema, expected);
}

/** Returns a function that turns a refusal by the topic's schema into `KQ_BAD_MESSAGE`. */
export function refusalOf(topic: string): Refuse<KqError> {
  return (told, issues) =>
    new KqError('KQ_BAD_MESSAGE', `the schema of ${show(topic)} rejects the value: ${told}`, { issues });
}
