import type { BatchHandlerOptions } from '../../api/job.js';
import { refuseUnknown } from '../../api/job-options.js';
import { wrongValue } from '../../errors.js';
import type { TubeLimits } from '../../api/limit-options.js';
import { parseDuration } from '../../time/duration.js';

/** The option `batch` of a handler, checked and completed with defaults. */
export interface BatchSettings {
  /** Max jobs of a batch. */
  readonly size: number;
  /** How long an incomplete batch waits to fill up, in ms. */
  readonly wait: number;
}

const KNOWN = new Set(['size', 'wait']);
const MAX_SIZE = 1_000;
const DEFAULT_WAIT_MS = 200;
/** Copies held for longer would meet the backups of their jobs. */
const MAX_WAIT_MS = 1_000;

/** Checks the option `batch` of a handler. Throws `DQ_BAD_OPTION`, or `DQ_BAD_DURATION` for `wait`. */
export function resolveBatch(
  options: BatchHandlerOptions['batch'],
  limit: TubeLimits | undefined,
): BatchSettings {
  if (typeof options !== 'object' || options === null)
    throw wrongValue('DQ_BAD_OPTION', '`batch`', options, 'an object such as { size: 100 }');
  refuseUnknown(options, KNOWN, 'batch');
  const { size, wait } = options;
  if (!Number.isInteger(size) || size < 1 || size > MAX_SIZE)
    throw wrongValue('DQ_BAD_OPTION', '`batch.size`', size, `1 to ${MAX_SIZE}`);
  const ms = wait === undefined ? DEFAULT_WAIT_MS : parseDuration(wait, '`batch.wait`');
  if (ms > MAX_WAIT_MS) throw wrongValue('DQ_BAD_OPTION', '`batch.wait`', wait, `0 to ${MAX_WAIT_MS} ms`);
  refuseSmaller('limit.concurrency', limit?.concurrency, size);
  refuseSmaller('limit.burst', limit?.burst, size); // or a batch could hold no more jobs than `burst`
  return { size, wait: ms };
}

/** The limits count jobs, so one below the size would make the size unreachable. */
function refuseSmaller(name: string, limit: number | undefined, size: number): void {
  if (limit === undefined || limit >= size) return;
  throw wrongValue('DQ_BAD_OPTION', `\`${name}\``, limit, `at least the \`batch.size\` of ${size}`);
}
