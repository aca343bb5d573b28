import {
  Body,
  createParamDecorator,
  type ExecutionContext,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import type { HandlerKind } from './handler-kind.js';

/** Data of the item parameter, by which pipes recognize it. */
export const ITEM = 'nest-handlers:item';

const decorateItem = createParamDecorator((_data: typeof ITEM, context: ExecutionContext) =>
  context.getArgByIndex<unknown>(1),
);

/** Decorates the payload parameter, with these pipes. An undecorated first parameter is the payload, too. */
export function payloadParameter(...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator {
  // As a body, because pipes such as ValidationPipe ignore any other kind of parameter.
  return Body(...pipes);
}

/** Decorates the item parameter, which no pipe sees. An undecorated second parameter is the item, too. */
export function itemParameter(): ParameterDecorator {
  return decorateItem(ITEM);
}

/** Nest's metadata of a method's decorated parameters, keyed by kind and index: `3:0`. */
type Parameters = Readonly<Record<string, { readonly index: number }>>;

/** The parameters of a method without parameter decorators. */
class Plain {
  run(@payloadParameter() _payload: unknown, @itemParameter() _item: unknown): void {}
}

// Nest exports neither this metadata key nor the number of a kind, so both are read from a class that has them.
const [NOTES] = Reflect.getMetadataKeys(Plain, 'run') as string[];
const PLAIN = Reflect.getMetadata(NOTES, Plain, 'run') as Parameters;
const kindOf = (note: string): string => note.split(':', 1)[0]!;
const PAYLOAD = kindOf(Object.keys(PLAIN).find((note) => PLAIN[note]!.index === 0)!);

/** Metadata key of a handler's parameters. Its parameters as a route stay unchanged. */
export const PARAMETERS = 'nest-handlers:parameters';

/** Whether a method has parameter decorators. */
export function hasDecoratedParameters(type: Function, method: string | symbol): boolean {
  return notesOf(type, method) !== undefined;
}

/**
 * Records the parameters of a handler; the first two are payload and item unless decorated. Throws the kind's configuration
 * error if a decorator reads a request.
 */
export function noteParameters(type: Function, method: string, name: string, kind: HandlerKind): void {
  const declared = notesOf(type, method) ?? {};
  const taken = new Set(Object.values(declared).map(({ index }) => index));
  for (const note of Object.keys(declared)) {
    const number = kindOf(note);
    if (Number.isNaN(Number(number)) || number === PAYLOAD) continue;
    throw kind.configError(
      `${name}: parameter ${declared[note]!.index + 1} has a decorator that reads a request, and a ${kind.item} has ` +
        `none: expected ${kind.parameters} or one made with createParamDecorator`,
    );
  }
  const missing = Object.entries(PLAIN).filter(([, { index }]) => !taken.has(index));
  // Pipes run in this order.
  const parameters = [...Object.entries(declared), ...missing].sort(([, a], [, b]) => a.index - b.index);
  Reflect.defineMetadata(PARAMETERS, Object.fromEntries(parameters), type, method);
}

/** Makes Nest read a built-in parameter as the payload, or one field of it. */
export const parametersFactory = {
  exchangeKeyForValue(_kind: number, field: unknown, [payload]: readonly unknown[]): unknown {
    if (typeof field !== 'string') return payload;
    return Object(payload) === payload && Object.hasOwn(payload as object, field)
      ? (payload as Record<string, unknown>)[field]
      : undefined;
  },
};

function notesOf(type: Function, method: string | symbol): Parameters | undefined {
  return Reflect.getMetadata(NOTES, type, method) as Parameters | undefined;
}
