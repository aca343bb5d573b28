import type { Duration } from 'nest-handlers/time';
import { checkCount, refuseUnknown } from './job-options.js';
import type { LimitOptions } from './job.js';
import { wrongValue } from '../errors.js';
import { parseDuration } from '../time/duration.js';

/** The limits of a tube's runs, as in its handler's option `limit`. What is absent isn't limited. */
export interface TubeLimits {
  /** Maximum runs started per `per`. */
  readonly rate?: number;
  /** The period of `rate`, in ms. Present if `rate` is. */
  readonly per?: number;
  /** Runs that may start at once after a quiet time. Present if `rate` is. */
  readonly burst?: number;
  /** Maximum concurrent runs. */
  readonly concurrency?: number;
  /** Maximum concurrent runs of jobs with the same group. */
  readonly perGroup?: number;
}

const KNOWN = new Set(['rate', 'per', 'burst', 'concurrency', 'perGroup']);
const DEFAULT_PER = 1_000;

/** Checks the option `limit` of a handler. Throws `DQ_BAD_OPTION`, or `DQ_BAD_DURATION` for `per`. */
export function resolveLimit(options: LimitOptions): TubeLimits {
  if (typeof options !== 'object' || options === null)
    throw wrongValue('DQ_BAD_OPTION', '`limit`', options, 'an object such as { rate: 100 }');
  refuseUnknown(options, KNOWN, 'limit');
  const { rate, per, burst, concurrency, perGroup } = options;
  if (rate === undefined && concurrency === undefined && perGroup === undefined)
    throw wrongValue(
      'DQ_BAD_OPTION',
      '`limit`',
      options,
      'an object with `rate`, `concurrency` or `perGroup`',
    );
  for (const [name, value] of Object.entries({ per, burst })) {
    if (rate === undefined && value !== undefined)
      throw wrongValue('DQ_BAD_OPTION', `\`limit.${name}\``, value, 'a `rate` as well');
  }
  return {
    ...(rate !== undefined && {
      rate: checkCount('limit.rate', rate),
      per: per === undefined ? DEFAULT_PER : checkPer(per),
      burst: burst === undefined ? 1 : checkCount('limit.burst', burst),
    }),
    ...(concurrency !== undefined && { concurrency: checkCount('limit.concurrency', concurrency) }),
    ...(perGroup !== undefined && { perGroup: checkCount('limit.perGroup', perGroup) }),
  };
}

function checkPer(per: Duration): number {
  const time = parseDuration(per, '`limit.per`');
  if (time > 0) return time;
  throw wrongValue('DQ_BAD_OPTION', '`limit.per`', per, 'a duration longer than 0');
}
