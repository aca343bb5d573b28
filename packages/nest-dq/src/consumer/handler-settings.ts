import { DqError, show } from '../errors.js';
import { checkAttempts, checkCount, refuseUnknown } from '../job-options.js';
import type { HandlerOptions } from '../job.js';
import { DEFAULT_BACKOFF, resolveBackoff, type ResolvedBackoff } from '../time.js';

/** Handler options after they were checked and filled from their defaults. */
export interface HandlerSettings {
  readonly concurrency: number;
  readonly attempts: number;
  readonly backoff: ResolvedBackoff;
}

const KNOWN = new Set(['concurrency', 'attempts', 'backoff']);
export const DEFAULT_HANDLER_SETTINGS: HandlerSettings = {
  concurrency: 10,
  attempts: 10,
  backoff: DEFAULT_BACKOFF,
};

/** Checks what a handler says of itself; `DQ_BAD_OPTION`, or `DQ_BAD_DURATION` inside `backoff`. */
export function resolveHandlerOptions(
  options: HandlerOptions = {},
  defaults: HandlerSettings = DEFAULT_HANDLER_SETTINGS,
): HandlerSettings {
  if (typeof options !== 'object' || options === null) {
    throw new DqError('DQ_BAD_OPTION', `the handler options are ${show(options)}: expected an object`);
  }
  refuseUnknown(options, KNOWN, 'handler');
  const { concurrency, attempts, backoff } = options;
  if (typeof backoff === 'function') {
    throw new DqError(
      'DQ_BAD_OPTION',
      '`backoff` is a function: expected a plan; functions are not available in this version',
    );
  }
  return {
    concurrency: concurrency === undefined ? defaults.concurrency : checkCount('concurrency', concurrency),
    attempts: attempts === undefined ? defaults.attempts : checkAttempts(attempts),
    backoff: backoff === undefined ? defaults.backoff : resolveBackoff(backoff),
  };
}
