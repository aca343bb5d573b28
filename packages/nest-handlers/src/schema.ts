/**
 * Payloads and Standard Schemas, for producers and handlers alike. It loads nothing of Nest.
 * @module nest-handlers/schema
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';

export { hasFieldsOnly, writeJson, type JsonLoss } from './json.js';

/** One thing that a schema finds wrong with a payload. */
export interface PayloadIssue {
  /** In the schema's words. */
  readonly message: string;
  /** Where in the payload, from the outside in; empty: the payload as a whole. */
  readonly path: readonly PropertyKey[];
}

/** The schema's output for a payload that it accepted, or the error of a refusal. */
export type Checked<Refusal extends Error> = { readonly payload: unknown } | Refusal;

/**
 * Makes the error of a payload that a schema refused.
 * @param told The first five issues in one line, such as `lines[0].price: expected a number; too short`.
 */
export type Refuse<Refusal extends Error> = (told: string, issues: readonly PayloadIssue[]) => Refusal;

/** How many issues a message names. */
const SHOWN = 5;

/** Whether it is a Standard Schema, as of Zod, Valibot or ArkType. It may be a function, such as ArkType's. */
export function isSchema(value: unknown): value is StandardSchemaV1 {
  const standard = (value as Partial<StandardSchemaV1> | null | undefined)?.['~standard'];
  return typeof standard?.validate === 'function';
}

/**
 * What the schema says of a payload. Throws or rejects with what the schema throws. It returns a promise only if the schema
 * does.
 */
export function checkPayload<Refusal extends Error>(
  schema: StandardSchemaV1,
  payload: unknown,
  refuse: Refuse<Refusal>,
): Checked<Refusal> | PromiseLike<Checked<Refusal>> {
  const result = schema['~standard'].validate(payload);
  return 'then' in result ? result.then((later) => checkedOf(later, refuse)) : checkedOf(result, refuse);
}

function checkedOf<Refusal extends Error>(
  result: StandardSchemaV1.Result<unknown>,
  refuse: Refuse<Refusal>,
): Checked<Refusal> {
  if (!result.issues) return { payload: result.value };
  const issues = result.issues.map(issueOf);
  const told = issues.slice(0, SHOWN).map(tell).join('; ');
  const more = issues.length > SHOWN ? `; and ${issues.length - SHOWN} more` : '';
  return refuse(told + more, issues);
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
