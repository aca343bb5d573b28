import type { PipeTransform, Type } from '@nestjs/common';
import { itemParameter, payloadParameter } from 'nest-handlers';

/**
 * The value of the message, after these pipes; of a batch, the list of the values. The first parameter is the value without
 * a decorator, too: use this to run pipes on it, or to have it in another place.
 */
export function MessageValue(...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator {
  return payloadParameter(...pipes);
}

/**
 * The `KqMessage`; of a batch, their list. The second parameter is that without a decorator, too: use this to have it in
 * another place.
 */
export function CurrentMessage(): ParameterDecorator {
  return itemParameter();
}
