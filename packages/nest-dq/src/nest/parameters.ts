import type { PipeTransform, Type } from '@nestjs/common';
import { itemParameter, payloadParameter } from 'nest-handlers';

/**
 * The payload, after these pipes. The first parameter is the payload without a decorator, too: use this to run pipes on
 * it, or to have it in another place.
 */
export function DelayedPayload(...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator {
  return payloadParameter(...pipes);
}

/** The `DelayedJob`. The second parameter is the job without a decorator, too: use this to have it in another place. */
export function CurrentJob(): ParameterDecorator {
  return itemParameter();
}
