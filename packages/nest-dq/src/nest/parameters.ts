import type { PipeTransform, Type } from '@nestjs/common';
import { itemParameter, payloadParameter } from 'nest-handlers';

/**
 * Injects the payload, after these pipes. The first parameter is the payload even without a decorator: use this to run pipes on
 * it, or to put it in another position.
 */
export function DelayedPayload(...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator {
  return payloadParameter(...pipes);
}

/** Injects the `DelayedJob`. The second parameter is the job even without a decorator: use this to put it in another position. */
export function CurrentJob(): ParameterDecorator {
  return itemParameter();
}
