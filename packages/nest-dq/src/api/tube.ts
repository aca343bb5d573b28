import type { StandardSchemaV1 } from '@standard-schema/spec';
import { isTubeName } from '../beanstalk/codec/commands.js';
import { DqError, show, wrongValue } from '../errors.js';
import { checkCodecs, type PayloadCodec, type TubeCodecs } from './payload-codec.js';
import { checkSchema } from './schema.js';

/**
 * A tube name with a payload type: `In` is what a producer passes, `Out` what a handler receives, and `Kept` what a dead letter
 * shows. Created by `defineTube`.
 */
export interface Tube<In = any, Out = any, Kept = any> {
  /** Name without the prefix. */
  readonly name: string;
  /** Validates a payload on add and before each run. */
  readonly schema?: StandardSchemaV1<unknown, Out>;
  /** Storage format, for tubes shared with another program. @default nest-dq's own format */
  readonly wire?: TubeWire;
  /** Writes and reads payloads. @default JSON */
  readonly codec?: PayloadCodec;
  /** Codecs that are only read, next to `codec` and JSON. */
  readonly alsoReads?: readonly PayloadCodec[];
  /** Type-level only; absent at run time. */
  readonly '~in'?: (payload: In) => void;
  /** Type-level only; absent at run time. */
  readonly '~out'?: () => Out;
  /** Type-level only; absent at run time. */
  readonly '~kept'?: () => Kept;
}

/**
 * Wire format of a tube shared with services that use go-queue's dq. `'go-queue'`: jobs are stored in go-queue's format, so both
 * its consumers and ours can run them, and ours run jobs that go-queue stored. `{ read: 'go-queue' }`: for when no go-queue
 * consumer is left; ours still run what go-queue stored, but new jobs are stored in nest-dq's format. See docs/from-go-queue.md.
 */
export type TubeWire = 'go-queue' | { readonly read: 'go-queue' };

/**
 * Defines a tube whose payloads are validated by a schema: any Standard Schema, such as Zod, Valibot or ArkType, sync or async.
 * The schema sees the payload as the handler will, after JSON or the tube's `codec`. On add, an invalid payload fails with
 * `DQ_BAD_PAYLOAD` and the issues; the schema's output is not stored. Before a run, the schema's output becomes the payload, and an
 * invalid payload becomes a dead letter at once. A handler registered under the plain tube name gets the stored payload,
 * unvalidated. Throws `DQ_BAD_OPTION` if `schema` is not a Standard Schema, `DQ_BAD_TUBE` for an invalid name (see the last
 * overload).
 */
export function defineTube<S extends StandardSchemaV1>(
  name: string,
  options: { schema: S; codec: PayloadCodec; alsoReads?: readonly PayloadCodec[] },
): Tube<StandardSchemaV1.InferInput<S>, StandardSchemaV1.InferOutput<S>, StandardSchemaV1.InferInput<S>>;
export function defineTube<S extends StandardSchemaV1>(
  name: string,
  options: { schema: S; alsoReads: readonly PayloadCodec[] },
): Tube<
  StandardSchemaV1.InferInput<S>,
  StandardSchemaV1.InferOutput<S>,
  StandardSchemaV1.InferInput<S> | AsJson<StandardSchemaV1.InferInput<S>>
>;
export function defineTube<S extends StandardSchemaV1>(
  name: string,
  options: { schema: S; wire?: TubeWire },
): Tube<
  StandardSchemaV1.InferInput<S>,
  StandardSchemaV1.InferOutput<S>,
  AsJson<StandardSchemaV1.InferInput<S>>
>;
/**
 * Defines a tube whose payloads are written by a codec, such as superjson or MessagePack, so that a handler gets a Date as a Date:
 * `defineTube<{ at: Date }>('reminder', { codec })`. See docs/codecs.md. Payloads without a codec are read as JSON, and those of
 * `alsoReads` too. Throws `DQ_BAD_OPTION` if a codec isn't `{ name, encode, decode }`, `DQ_BAD_TUBE` for an invalid name.
 */
export function defineTube<In = unknown, Out = In>(
  name: string,
  options: { codec: PayloadCodec; alsoReads?: readonly PayloadCodec[] },
): Tube<In, Out, In>;
/**
 * Defines a tube whose payloads are stored as JSON, and that also reads those of other codecs: before a deploy that writes them, or
 * after one.
 */
export function defineTube<In = unknown, Out = In | AsJson<In>>(
  name: string,
  options: { alsoReads: readonly PayloadCodec[] },
): Tube<In, Out, In | AsJson<In>>;
/**
 * Defines a tube and its payload type, for producers and handlers alike:
 * `const OrderCancel = defineTube<{ id: string }>('order.cancel')`.
 * The name is 1 to 200 bytes of `A-Z a-z 0-9 - + / ; . $ _ ( )`, otherwise `DQ_BAD_TUBE`. If only the configured prefix makes it
 * too long, or it begins with - and there is no prefix, the first use throws `DQ_BAD_TUBE`. A handler gets the payload after JSON
 * (a Date arrives as a string); set `Out` to override its type.
 */
export function defineTube<In = unknown, Out = AsJson<In>>(
  name: string,
  options?: { wire?: TubeWire },
): Tube<In, Out, AsJson<In>>;
export function defineTube(name: string, options?: Omit<Tube, 'name'>): Tube {
  // A leading - is fine after a prefix, and the prefix isn't known yet.
  if (typeof name !== 'string' || !isTubeName(name.replace(/^-/, 'x'))) throw badTube(show(name));
  if (options === undefined) return { name };
  if (
    typeof options !== 'object' ||
    options === null ||
    !Object.keys(options).every((field) => KNOWN.has(field)) ||
    Object.keys(options).length === 0
  ) {
    throw new DqError(
      'DQ_BAD_OPTION',
      `defineTube(${show(name)}) got ${show(options)}: expected some of { ${[...KNOWN].join(', ')} }`,
    );
  }
  const { schema, wire } = options;
  const codecs = checkCodecs(options, name);
  if (wire !== undefined && Object.keys(codecs).length > 0) {
    const expected = 'none next to a codec, because go-queue stores JSON';
    throw wrongValue('DQ_BAD_OPTION', `the wire of ${show(name)}`, wire, expected);
  }
  return {
    name,
    ...('schema' in options ? { schema: checkSchema(schema, name) } : {}),
    ...(wire === undefined ? {} : { wire: checkWire(wire, name) }),
    ...codecs,
  };
}

const KNOWN: ReadonlySet<string> = new Set(['schema', 'wire', 'codec', 'alsoReads']);

function checkWire(wire: unknown, name: string): TubeWire {
  if (wire === 'go-queue') return wire;
  const fields = typeof wire === 'object' && wire !== null ? Object.entries(wire) : [];
  if (fields.length === 1 && String(fields[0]) === 'read,go-queue') return { read: 'go-queue' };
  throw wrongValue('DQ_BAD_OPTION', `the wire of ${show(name)}`, wire, "'go-queue' or { read: 'go-queue' }");
}

/** Tube name with the prefix, as nodes and the ledger know it. A plain string `tube` is always the user's name. */
export type StoredTube = string & { readonly '~stored': 'tube' };

/** Returns the user's name of a tube and the name with the prefix. `DQ_BAD_TUBE`. */
export function tubeNames(tube: string | Tube, prefix: string): { name: string; storedAs: StoredTube } {
  const name = tubeName(tube, prefix);
  return { name, storedAs: (prefix + name) as StoredTube };
}

/** Returns the tube name with the prefix. `DQ_BAD_TUBE`. */
export function storedTube(tube: string | Tube, prefix: string): StoredTube {
  return tubeNames(tube, prefix).storedAs;
}

/** Returns the user's name of a tube. A tube with another prefix keeps it. */
export function withoutPrefix(stored: StoredTube, prefix: string): string {
  return stored.startsWith(prefix) ? stored.slice(prefix.length) : stored;
}

/** Returns the user's name of a tube, validated together with the prefix. `DQ_BAD_TUBE`. */
export function tubeName(tube: string | Tube, prefix: string): string {
  const name: unknown = typeof tube === 'object' && tube !== null ? tube.name : tube;
  if (typeof name === 'string' && name !== '' && isTubeName(prefix + name)) return name;
  const given = prefix === '' ? show(name) : `${show(name)} (after the prefix ${show(prefix)})`;
  throw badTube(given);
}

function badTube(given: string): DqError {
  const isMissing = given.startsWith('undefined');
  const hint = isMissing ? '; circular import? The file it comes from may import this one' : '';
  return new DqError(
    'DQ_BAD_TUBE',
    `the tube is ${given}: expected 1 to 200 of A-Z a-z 0-9 - + / ; . $ _ ( ), not beginning with -, prefix included${hint}`,
  );
}

/** Returns the schema of a tube; undefined for a plain name. */
export function schemaOf(tube: string | Tube): StandardSchemaV1 | undefined {
  return typeof tube === 'object' ? tube.schema : undefined;
}

/** Returns the codecs of a tube; undefined if it has none, and for a plain name. */
export function codecsOf(tube: string | Tube): TubeCodecs | undefined {
  return typeof tube === 'object' && (tube.codec ?? tube.alsoReads) ? tube : undefined;
}

/**
 * Tube in which jobs stored by go-queue continue as ours. Ours never go in a tube that go-queue's consumers read: they would
 * delete them.
 */
export function nestTube<T extends string>(tube: T): T {
  return `${tube}.nest` as T;
}

/** The wire formats this process has seen, so that a tube passed by name alone is stored as its definition says. */
export class TubeWires {
  private readonly known = new Map<string, TubeWire>();

  /** `name` is the tube's name without the prefix. */
  of(tube: string | Tube, name: string): TubeWire | undefined {
    const own = wireOf(tube);
    if (own !== undefined) this.known.set(name, own);
    return own ?? this.known.get(name);
  }
}

/** Returns the tube's wire format, if it's shared with another program. */
export function wireOf(tube: string | Tube): TubeWire | undefined {
  return typeof tube === 'object' ? tube.wire : undefined;
}

/** The payload type a handler of the tube receives. */
export type PayloadOf<T extends Tube> = T extends Tube<any, infer Out> ? Out : never;

/** The type of a value after JSON: a Date becomes a string, methods are dropped, a top-level Uint8Array becomes a Buffer. */
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
