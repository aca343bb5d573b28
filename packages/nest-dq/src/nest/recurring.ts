import type { HandlerDescriptor } from 'nest-handlers';
import { show } from '../errors.js';
import type { HandlerOptions } from '../api/job.js';
import type { RecurrencePlan } from '../recurring/occurrences.js';
import { handlerMarks, type DecoratedHandler } from './delayed-handler.js';

/** How a series runs. */
export interface RecurringOptions extends HandlerOptions {
  /** The time zone of the cron expression, such as 'Europe/Berlin'. @default 'UTC' */
  tz?: string;
}

/**
 * Runs this method `(payload, job)` of a provider or controller at each occurrence of a plan: once, no matter how many
 * processes have it. The payload is undefined. An occurrence is a job of the tube: it fails, is retried and dies like any
 * other, and the series goes on. While one runs or is retried, no other one begins. Wrong options are `DQ_CONFIG` at the
 * start of the application.
 * @param tube The name of the series, for this method alone. Keep it: another name is another series.
 * @param plan A cron expression of 5 fields, or 6 with seconds first, which needs the package `croner`; or
 * `{ name, next: (after) => … }`, whose function tells the first occurrence after an instant, or undefined if there is none
 * any more. Another expression, zone or name is another plan: the waiting job is moved to the next occurrence of that plan.
 */
export function Recurring(
  tube: string,
  plan: RecurrencePlan,
  options?: RecurringOptions,
): <M extends DecoratedHandler<undefined>>(
  target: object,
  method: string | symbol,
  descriptor: HandlerDescriptor<M>,
) => void {
  return (target, method, descriptor) => {
    const { tz, ...handling } = options ?? {};
    const mark = { tube, options: handling, recurrence: { plan, tz } };
    handlerMarks.add(mark, `@Recurring(${show(tube)})`, target, method, descriptor);
  };
}
