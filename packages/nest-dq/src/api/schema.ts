import type { StandardSchemaV1 } from '@standard-schema/spec';
import { DqError, show, type PayloadIssue } from '../errors.js';
import { isThenable } from '../structures/thenable.js';

/** A payload that its schema accepted, as the schema gives it; or `DQ_BAD_PAYLOAD` with its issues. */
export type Checked = { readonly payload: unknown } | DqError;

/** Issues that a message tells; `issues` of the error has all. */
const SHOWN = 5;

/** `DQ_BAD_OPTION`: it has no `~standard.validate`. A schema may be a function, as those of ArkType are. */
export function checkSchema(schema: unknown, tube: string): StandardSchemaV1 {
  const standard = (schema as Partial<StandardSchemaV1> | null | undefined)?.['~standard'];
  if (typeof standard?.validate === 'function') return schema as StandardSchemaV1;
  throw new DqError(
    'DQ_BAD_OPTION',
    `the schema of ${show(tube)} is ${show(schema)}: expected a Standard Schema, as of Zod, Valibot or ArkType`,
  );
}

/** Throws, or rejects with, what the schema itself throws. Only a schema that answers later makes a promise. */
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
  // A plain array: that of ArkType joins itself in its own way.
  return { message, path: Array.from(path, (part) => (typeof part === 'object' ? part.key : part)) };
}

function tell({ message, path }: PayloadIssue): string {
  const where = path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
  return where === '' ? message : `${where}: ${message}`;
}
