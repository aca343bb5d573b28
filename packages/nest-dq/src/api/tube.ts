import type { StandardSchemaV1 } from '@standard-schema/spec';
import { isTubeName } from '../beanstalk/codec/commands.js';
import { DqError, show, wrongValue } from '../errors.js';
import { checkSchema } from './schema.js';

/** A name with a payload type: `In` is what a producer gives, `Out` what a handler gets. Made by `defineTube`. */
export interface Tube<In = any, Out = any> {
  /** Without the prefix. */
  readonly name: string;
  /** Checks a payload when it is added and when it runs. */
  readonly schema?: StandardSchemaV1<unknown, Out>;
  /** How its jobs are stored, where another program has to do with them. @default as nest-dq stores jobs */
  readonly wire?: TubeWire;
  /** Carries the types only; absent at run time. */
  readonly '~in'?: (payload: In) => void;
  /** Carries the types only; absent at run time. */
  readonly '~out'?: () => Out;
}

/**
 * A tube that services with go-queue's dq use as well. `'go-queue'`: jobs are stored as go-queue stores them, so that its consumers
 * and ours may run them, and ours run what it stored. `{ read: 'go-queue' }`: no consumer of go-queue is left; ours still run what
 * it stored, and jobs are stored as nest-dq stores them. See docs/from-go-queue.md.
 */
export type TubeWire = 'go-queue' | { readonly read: 'go-queue' };

/**
 * Names a tube whose payloads a schema checks: any Standard Schema, such as Zod's, Valibot's or ArkType's, also an
 * asynchronous one. It gets the payload as the handler will read it, after JSON. An add that it refuses is
 * `DQ_BAD_PAYLOAD` with its issues; its output is not stored. Before a run its output becomes the payload, and a payload
 * that it refuses is a dead letter at once. A handler of the tube's plain name gets the stored payload, unchecked.
 * `DQ_BAD_OPTION`: it is no such schema. `DQ_BAD_TUBE`: see below.
 */
export function defineTube<S extends StandardSchemaV1>(
  name: string,
  options: { schema: S; wire?: TubeWire },
): Tube<StandardSchemaV1.InferInput<S>, StandardSchemaV1.InferOutput<S>>;
/**
 * Names a tube and says what its payloads are, for producer and handler alike:
 * `const OrderCancel = defineTube<{ id: string }>('order.cancel')`.
 * The name is 1 to 200 bytes of `A-Z a-z 0-9 - + / ; . $ _ ( )`, otherwise `DQ_BAD_TUBE`. If it is too long only with the
 * configured prefix, or begins with - and there is no prefix, the first use throws that. A handler gets the payload after
 * JSON (a Date arrives as a string); give `Out` to say otherwise.
 */
export function defineTube<In = unknown, Out = AsJson<In>>(
  name: string,
  options?: { wire?: TubeWire },
): Tube<In, Out>;
export function defineTube(name: string, options?: { schema?: StandardSchemaV1; wire?: TubeWire }): Tube {
  // A name may begin with - if a prefix stands before it, and the prefix is known later.
  if (typeof name !== 'string' || !isTubeName(name.replace(/^-/, 'x'))) throw badTube(show(name));
  if (options === undefined) return { name };
  const isKnown = (field: string) => field === 'schema' || field === 'wire';
  if (
    typeof options !== 'object' ||
    options === null ||
    !Object.keys(options).every(isKnown) ||
    Object.keys(options).length === 0
  ) {
    throw new DqError(
      'DQ_BAD_OPTION',
      `defineTube(${show(name)}) was given ${show(options)}: expected { schema }, { wire } or both`,
    );
  }
  const { schema, wire } = options;
  return {
    name,
    ...('schema' in options ? { schema: checkSchema(schema, name) } : {}),
    ...(wire === undefined ? {} : { wire: checkWire(wire, name) }),
  };
}

function checkWire(wire: unknown, name: string): TubeWire {
  if (wire === 'go-queue') return wire;
  const fields = typeof wire === 'object' && wire !== null ? Object.entries(wire) : [];
  if (fields.length === 1 && String(fields[0]) === 'read,go-queue') return { read: 'go-queue' };
  throw wrongValue('DQ_BAD_OPTION', `the wire of ${show(name)}`, wire, "'go-queue' or { read: 'go-queue' }");
}

/** The name of a tube as nodes and ledger know it: with the prefix. A plain text `tube` is always the user's name. */
export type StoredTube = string & { readonly '~stored': 'tube' };

/** The user's name of a tube, and the one with the prefix. `DQ_BAD_TUBE`. */
export function tubeNames(tube: string | Tube, prefix: string): { name: string; storedAs: StoredTube } {
  const name = tubeName(tube, prefix);
  return { name, storedAs: (prefix + name) as StoredTube };
}

/** `DQ_BAD_TUBE`. */
export function storedTube(tube: string | Tube, prefix: string): StoredTube {
  return tubeNames(tube, prefix).storedAs;
}

/** The user's name of a tube. A tube of another prefix keeps it. */
export function withoutPrefix(stored: StoredTube, prefix: string): string {
  return stored.startsWith(prefix) ? stored.slice(prefix.length) : stored;
}

/** The user's name of a tube, checked together with the prefix that will stand before it; `DQ_BAD_TUBE`. */
export function tubeName(tube: string | Tube, prefix: string): string {
  const name: unknown = typeof tube === 'object' && tube !== null ? tube.name : tube;
  if (typeof name === 'string' && name !== '' && isTubeName(prefix + name)) return name;
  const given = prefix === '' ? show(name) : `${show(name)} (behind the prefix ${show(prefix)})`;
  throw badTube(given);
}

function badTube(given: string): DqError {
  const isMissing = given.startsWith('undefined');
  const hint = isMissing
    ? '; is it imported from a file that imports this one, so that it is not defined yet?'
    : '';
  return new DqError(
    'DQ_BAD_TUBE',
    `the tube is ${given}: expected 1 to 200 of A-Z a-z 0-9 - + / ; . $ _ ( ), not beginning with -, prefix included${hint}`,
  );
}

/** The schema of a tube, if it has one; a plain name has none. */
export function schemaOf(tube: string | Tube): StandardSchemaV1 | undefined {
  return typeof tube === 'object' ? tube.schema : undefined;
}

/** Where jobs that go-queue stored go on as jobs of ours. Ours never stand in a tube that go-queue's consumers use: they would delete them. */
export function nestTube<T extends string>(tube: T): T {
  return `${tube}.nest` as T;
}

/** What a process knows of the tubes that other programs use: one that is given by its name alone is stored as its definition says. */
export class TubeWires {
  private readonly known = new Map<string, TubeWire>();

  /** `name`: with which the tube was given, without the prefix. */
  of(tube: string | Tube, name: string): TubeWire | undefined {
    const own = wireOf(tube);
    if (own !== undefined) this.known.set(name, own);
    return own ?? this.known.get(name);
  }
}

/** How jobs of a tube are stored, if another program has to do with them. */
export function wireOf(tube: string | Tube): TubeWire | undefined {
  return typeof tube === 'object' ? tube.wire : undefined;
}

/** What a handler of the tube gets. */
export type PayloadOf<T extends Tube> = T extends Tube<any, infer Out> ? Out : never;

/** The type of a value after JSON: a Date is a string, methods are gone, a top-level Uint8Array is a Buffer. */
export type AsJson<T> = unknown extends T ? T : T extends Uint8Array ? Buffer : JsonOf<T>;

type JsonOf<T> = unknown extends T
  ? T
  : T extends { toJSON(...args: never[]): infer J }
    ? JsonOf<J>
    : T extends string | number | boolean | null | undefined | void
      ? T
      : T extends bigint | symbol | ((...args: never[]) => unknown)
        ? never
        : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
          ? {}
          : T extends readonly unknown[]
            ? { [K in keyof T]: JsonOf<T[K]> }
            : T extends object
              ? { [K in keyof T as [JsonOf<T[K]>] extends [never] ? never : K]: JsonOf<T[K]> }
              : never;
