import type { StandardSchemaV1 } from '@standard-schema/spec';
import { DqError, show, wrongValue, type PayloadIssue } from '../errors.js';
import { isThenable } from '../structures/thenable.js';

/** The schema's output for a payload that it accepted; or `DQ_BAD_PAYLOAD` with the issues. */
export type Checked = { readonly payload: unknown } | DqError;

/** How many issues a message names; `issues` of the error has all. */
const SHOWN = 5;

/** `DQ_BAD_OPTION`: it has no `~standard.validate`. A schema may be a function, such as ArkType's. */
export function checkSchema(schema: unknown, tube: string): StandardSchemaV1 {
  const standard = (schema as Partial<StandardSchemaV1> | null | undefined)?.['~standard'];
  if (typeof standard?.validate === 'function') return schema as StandardSchemaV1;
  const expected = 'a Standard Schema, as of Zod, Valibot or ArkType';
  throw wrongValue('DQ_BAD_OPTION', `the schema of ${show(tube)}`, schema, expected);
}

/** Throws or rejects with what the schema throws. It returns a promise only if the schema does. */
export function checkPayload(
  schema: StandardSchemaV1,
  payload: unknown,
  tube: string,
): Checked | PromiseLike<Checked> {
  const result = schema['~standard'].validate(payload);
  return isThenable(result) ? result.then((later) => checkedOf(later, tube)) : checkedOf(result, tube);
}

function checkedOf(result: StandardSchemaV1.Result<unknown>, tube: string): Checked {
  if (!result.issues) return { payload: result.value };
  const issues = result.issues.map(issueOf);
  const told = issues.slice(0, SHOWN).map(tell).join('; ');
  const more = issues.length > SHOWN ? `; and ${issues.length - SHOWN} more` : '';
  return new DqError('DQ_BAD_PAYLOAD', `the schema of ${show(tube)} refuses the payload: ${told}${more}`, {
    issues,
  });
}

function issueOf({ message, path = [] }: StandardSchemaV1.Issue): PayloadIssue {
  // A plain array, because ArkType's array has a `join` of its own.
  return { message, path: Array.from(path, (part) => (typeof part === 'object' ? part.key : part)) };
}

function tell({ message, path }: PayloadIssue): string {
  const where = path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
  return where === '' ? message : `${where}: ${message}`;
}
