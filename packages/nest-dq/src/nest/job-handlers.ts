import type { ArgumentsHost } from '@nestjs/common';
import type { ClusterKind } from 'nest-handlers';
import type { DelayedJob } from '../api/job.js';
import { isOutcome } from '../consumer/run/outcome.js';
import { RunningJob } from '../consumer/run/run.js';
import { DqError, shorten, show, toError } from '../errors.js';
import { asConfigError } from './option-checks.js';

/** The item of a handler call: a job, or those of a batch. */
export type JobItem = DelayedJob | readonly DelayedJob[];

/** Describes job handlers to nest-handlers. */
export const JOB_HANDLERS: ClusterKind<JobItem> = {
  library: 'nest-dq',
  context: 'dq',
  contextCheck: 'isDqContext',
  module: 'DqModule',
  item: 'job',
  parameters: '@DelayedPayload(), @CurrentJob()',
  show,
  asConfigError,
  configError: (message) => new DqError('DQ_CONFIG', message),
  readError(thrown) {
    const { message, stack } = toError(thrown);
    return { message: shorten(message), stack };
  },
  isOutcome,
  abandon(item, handler) {
    for (const job of [item].flat()) if (job instanceof RunningJob) job.abandon(handler);
  },
};

/**
 * Returns whether a guard, interceptor, filter or parameter decorator is running for a job rather than a request. The arguments
 * are the payload and the `DelayedJob`, or a list of each for batches: `const [payload, job] = context.getArgs()`.
 */
export function isDqContext(host: ArgumentsHost): boolean {
  return host.getType<string>() === JOB_HANDLERS.context;
}
