import {
  Body,
  createParamDecorator,
  type ExecutionContext,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { DqError } from '../errors.js';

/** The data of a parameter that is the job: pipes recognize it by that. */
export const JOB = 'nest-dq:job';

const jobParameter = createParamDecorator((_data: typeof JOB, context: ExecutionContext) =>
  context.getArgByIndex<unknown>(1),
);

/**
 * The payload, after these pipes. The first parameter is the payload without a decorator, too: use this to run pipes on
 * it, or to have it in another place.
 */
export function DelayedPayload(...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator {
  // As a body, because pipes such as ValidationPipe look at no other kind of parameter.
  return Body(...pipes);
}

/** The `DelayedJob`. The second parameter is the job without a decorator, too: use this to have it in another place. */
export function CurrentJob(): ParameterDecorator {
  return jobParameter(JOB);
}

/** Nest's metadata of a method's decorated parameters, by the kind and index of each: `3:0`. */
type Parameters = Readonly<Record<string, { readonly index: number }>>;

/** How a method without parameter decorators is read. */
class Plain {
  run(@DelayedPayload() _payload: unknown, @CurrentJob() _job: unknown): void {}
}

// Nest exports neither the key of this metadata nor the number of a kind, so they are read from a class that has both.
const [NOTES] = Reflect.getMetadataKeys(Plain, 'run') as string[];
const PLAIN = Reflect.getMetadata(NOTES, Plain, 'run') as Parameters;
const kindOf = (note: string): string => note.split(':', 1)[0]!;
const PAYLOAD = kindOf(Object.keys(PLAIN).find((note) => PLAIN[note]!.index === 0)!);

/** The key of a handler's parameters for jobs. Those that it has as a route stay as they are. */
export const PARAMETERS = 'nest-dq:parameters';

/** Whether a method has parameter decorators. */
export function hasDecoratedParameters(type: Function, method: string | symbol): boolean {
  return notesOf(type, method) !== undefined;
}

/** Notes the parameters of a handler; the first two are payload and job unless they are decorated. `DQ_CONFIG`: see below. */
export function noteParameters(type: Function, method: string, name: string): void {
  const declared = notesOf(type, method) ?? {};
  const taken = new Set(Object.values(declared).map(({ index }) => index));
  for (const note of Object.keys(declared)) {
    const kind = kindOf(note);
    if (Number.isNaN(Number(kind)) || kind === PAYLOAD) continue;
    throw new DqError(
      'DQ_CONFIG',
      `${name}: the parameter ${declared[note]!.index + 1} has a decorator that reads a request, and a job has none: ` +
        'expected @DelayedPayload(), @CurrentJob() or one made with createParamDecorator',
    );
  }
  const missing = Object.entries(PLAIN).filter(([, { index }]) => !taken.has(index));
  // Their pipes run in this order.
  const parameters = [...Object.entries(declared), ...missing].sort(([, a], [, b]) => a.index - b.index);
  Reflect.defineMetadata(PARAMETERS, Object.fromEntries(parameters), type, method);
}

/** How Nest reads a built-in parameter: as the payload, or one field of it. */
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
