import type { StandardSchemaV1 } from '@standard-schema/spec';

type Result = StandardSchemaV1.Result<unknown>;

/** A schema without a library. */
export function schemaBy(
  validate: (value: unknown) => Result | Promise<Result>,
): StandardSchemaV1<unknown, unknown> {
  return { '~standard': { version: 1, vendor: 'specs', validate } };
}

/** Turns `{ at: text }` into `{ at: Date }`, and refuses everything else. */
export function dated(value: unknown): Result {
  const at = (value as { at?: unknown } | null)?.at;
  if (typeof at === 'string') return { value: { at: new Date(at) } };
  return { issues: [{ message: 'expected a text', path: ['at'] }] };
}

/** The same, one turn later. */
export async function datedLater(value: unknown): Promise<Result> {
  await new Promise((resolve) => setImmediate(resolve));
  return dated(value);
}
