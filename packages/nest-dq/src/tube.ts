import { isTubeName } from './beanstalk/commands.js';
import { DqError, show } from './errors.js';

/** A name with a payload type: `In` is what a producer gives, `Out` what a handler gets. Made by `defineTube`. */
export interface Tube<In = any, Out = any> {
  readonly name: string;
  /** Carries the types only; absent at run time. */
  readonly '~in'?: (payload: In) => void;
  /** Carries the types only; absent at run time. */
  readonly '~out'?: () => Out;
}

/**
 * Names a tube and says what its payloads are, for producer and handler alike:
 * `const OrderCancel = defineTube<{ id: string }>('order.cancel')`.
 * The name is 1 to 200 bytes of `A-Z a-z 0-9 - + / ; . $ _ ( )`, a configured prefix included; otherwise
 * the first use throws `DQ_BAD_TUBE`. A handler gets the payload as JSON leaves it (a Date arrives as a string);
 * give `Out` to say otherwise.
 */
export function defineTube<In = unknown, Out = AsJson<In>>(name: string): Tube<In, Out> {
  const options: unknown = arguments[1];
  if (typeof options === 'object') {
    throw new DqError(
      'DQ_BAD_OPTION',
      `defineTube(${show(name)}) was given ${show(options)}: options, such as \`schema\`, are not available in this version`,
    );
  }
  return { name };
}

/** The name of a tube or token, checked together with the prefix that will stand before it; `DQ_BAD_TUBE`. */
export function tubeName(tube: string | Tube, prefix: string): string {
  const name: unknown = typeof tube === 'object' && tube !== null ? tube.name : tube;
  if (typeof name === 'string' && name !== '' && isTubeName(prefix + name)) return name;
  const given = prefix === '' ? show(name) : `${show(name)} (behind the prefix ${show(prefix)})`;
  throw new DqError(
    'DQ_BAD_TUBE',
    `the tube is ${given}: expected 1 to 200 of A-Z a-z 0-9 - + / ; . $ _ ( ), not beginning with -, prefix included`,
  );
}

/** What a handler of the tube gets. */
export type PayloadOf<T extends Tube> = T extends Tube<any, infer Out> ? Out : never;

/** A value after JSON: Date is string, methods are gone, a top-level Uint8Array is a Buffer. */
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
