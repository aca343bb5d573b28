import type { ArgumentsHost } from '@nestjs/common';

/** What `getType()` says in guards, interceptors and filters while a job runs. */
export const DQ_CONTEXT = 'dq';

/**
 * Whether a guard, interceptor, filter or parameter decorator is at work for a job and not for a request. The arguments
 * are the payload and the `DelayedJob`: `const [payload, job] = context.getArgs()`.
 */
export function isDqContext(host: ArgumentsHost): boolean {
  return host.getType<string>() === DQ_CONTEXT;
}
