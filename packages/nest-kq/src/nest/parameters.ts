import type { PipeTransform, Type } from '@nestjs/common';
import { itemParameter, payloadParameter } from 'nest-handlers';

/**
 * Injects the message's value after these pipes, or the list of values of a batch. An undecorated first parameter is the value,
 * too: use this to apply pipes or to move the parameter.
 */
export function MessageValue(...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator {
  return payloadParameter(...pipes);
}

/** Injects the `KqMessage`, or the list of a batch. An undecorated second parameter is that, too: use this to move it. */
export function CurrentMessage(): ParameterDecorator {
  return itemParameter();
}
