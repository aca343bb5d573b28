import type { StandardSchemaV1 } from '@standard-schema/spec';
import { isSchema, type Refuse } from 'nest-handlers/schema';
import { DqError, show, wrongValue } from '../errors.js';

/** Throws `DQ_BAD_OPTION` if `schema` has no `~standard.validate`. */
export function checkSchema(schema: unknown, tube: string): StandardSchemaV1 {
  if (isSchema(schema)) return schema;
  const expected = 'a Standard Schema, such as one from Zod, Valibot or ArkType';
  throw wrongValue('DQ_BAD_OPTION', `the schema of ${show(tube)}`, schema, expected);
}

/** Returns a function that turns schema issues of a tube into `DQ_BAD_PAYLOAD`. */
export function refusalOf(tube: string): Refuse<DqError> {
  return (told, issues) =>
    new DqError('DQ_BAD_PAYLOAD', `the schema of ${show(tube)} rejects the payload: ${told}`, { issues });
}
