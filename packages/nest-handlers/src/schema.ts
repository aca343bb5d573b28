/**
 * Payloads and Standard Schemas, for producers and handlers alike. Doesn't load Nest.
 * @module nest-handlers/schema
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';

export { hasFieldsOnly, writeJson, type JsonLoss } from './json.js';

/** An issue that a schema found in a payload. */
export interface PayloadIssue {
  /** The schema's message. */
  readonly message: string;
  /** Path in the payload, outermost first; empty for the payload as a whole. */
  readonly path: readonly PropertyKey[];
}

/** The schema's output for an accepted payload, or the error of a refusal. */
export type Checked<Refusal extends Error> = { readonly payload: unknown } | Refusal;

/**
 * Returns the error for a payload refused by a schema.
 * @param told The first five issues in one line, such as `lines[0].price: expected a number; too short`.
 */
export type Refuse<Refusal extends Error> = (told: string, issues: readonly PayloadIssue[]) => Refusal;

/** Max issues in a message. */
const SHOWN = 5;

/** Whether it is a Standard Schema, such as Zod's, Valibot's or ArkType's. It may be a function, as in ArkType. */
export function isSchema(value: unknown): value is StandardSchemaV1 {
  const standard = (value as Partial<StandardSchemaV1> | null | undefined)?.['~standard'];
  return typeof standard?.validate === 'function';
}

/**
 * Checks a payload against a schema. Throws or rejects with what the schema throws. Returns a promise only if the schema does.
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
  const told = issues.slice(0, SHOWN).map(describeIssue).join('; ');
  const more = issues.length > SHOWN ? `; and ${issues.length - SHOWN} more` : '';
  return refuse(told + more, issues);
}

function issueOf({ message, path = [] }: StandardSchemaV1.Issue): PayloadIssue {
  // A plain array, because ArkType's has its own `join`.
  return { message, path: Array.from(path, (part) => (typeof part === 'object' ? part.key : part)) };
}

function describeIssue({ message, path }: PayloadIssue): string {
  const where = path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
  return where === '' ? message : `${where}: ${message}`;
}
