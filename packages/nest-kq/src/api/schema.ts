/** What nest-handlers' check of a schema means for a topic. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { isSchema, type Refuse } from 'nest-handlers/schema';
import { KqError, show, wrongValue } from '../errors.js';

/** `KQ_BAD_OPTION`: it has no `~standard.validate`. */
export function checkSchema(schema: unknown, topic: string): StandardSchemaV1 {
  if (isSchema(schema)) return schema;
  const expected = 'a Standard Schema, as of Zod, Valibot or ArkType';
  throw wrongValue('KQ_BAD_OPTION', `the schema of ${show(topic)}`, schema, expected);
}

/** Makes `KQ_BAD_MESSAGE` of what the schema of a topic refuses. */
export function refusalOf(topic: string): Refuse<KqError> {
  return (told, issues) =>
    new KqError('KQ_BAD_MESSAGE', `the schema of ${show(topic)} refuses the value: ${told}`, { issues });
}
