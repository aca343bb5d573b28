import type { HandlerMethod } from '../job.js';

/** Calls a method that was found. It is looked up at each call, so that one replaced later, as by a spy, is called. */
export function invoker(instance: object, method: string | symbol): HandlerMethod {
  const methods = instance as Record<string | symbol, HandlerMethod>;
  return (payload, job) => methods[method]!(payload, job);
}
