import type { HandlerDescriptor } from 'nest-handlers';
import { show } from '../errors.js';
import type { HandlerOptions } from '../api/job.js';
import type { RecurrencePlan } from '../recurring/occurrences.js';
import { handlerMarks, type DecoratedHandler } from './delayed-handler.js';

/** Options of a series. */
export interface RecurringOptions extends Omit<HandlerOptions, 'keepDone'> {
  /** Time zone of the cron expression, such as 'Europe/Berlin'. @default 'UTC' */
  tz?: string;
}

/**
 * Runs this method `(payload, job)` of a provider or controller at each occurrence of a plan: once, no matter how many processes
 * have it. The payload is undefined. An occurrence is an ordinary job of the tube: it can fail, be retried and become a dead
 * letter, and the series continues. While one occurrence is running or being retried, no other starts. Invalid options are
 * `DQ_CONFIG` when the application starts.
 * @param tube Name of the series, used by this method only. Keep it stable: another name is another series.
 * @param plan A cron expression of 5 fields, or 6 with seconds first, which needs the package `croner`; or
 *   `{ name, next: (after) => … }`, whose function returns the first occurrence after a time, or undefined if there are no more.
 *   A different expression, zone or name is a different plan: the waiting job is moved to that plan's next occurrence.
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
    const mark = { tubes: tube, options: handling, recurrence: { plan, tz } };
    handlerMarks.add(mark, `@Recurring(${show(tube)})`, target, method, descriptor);
  };
}
