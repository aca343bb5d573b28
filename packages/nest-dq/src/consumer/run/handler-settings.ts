import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Duration } from 'nest-handlers/time';
import { DEFAULT_BACKOFF, resolveBackoff, type ResolvedBackoff } from '../../time/backoff.js';
import { DqError, show, wrongValue } from '../../errors.js';
import { checkCount, checkExpireAfter, refuseUnknown } from '../../api/job-options.js';
import type { BatchHandlerOptions, HandlerOptions } from '../../api/job.js';
import { parseDuration } from '../../time/duration.js';
import type { TubeCodecs } from '../../api/payload-codec.js';
import { limitsOf, type Limits } from '../../ledger/limits/limits.js';
import type { TubeLimits } from '../../api/limit-options.js';
import type { LimitChange } from '../../fleet/limit-changes.js';
import { resolveLimit } from '../../api/limit-options.js';
import { resolveBatch, type BatchSettings } from '../batch/batch-settings.js';
import type { BackoffFunction } from './outcome.js';

/** Handler options, checked and completed with defaults. */
export interface HandlerSettings {
  /** Max concurrent runs in a process, or batches, unless `limit` has fewer runs: see `slotsOf`. */
  readonly concurrency: number;
  /** Undefined for a handler of single jobs. */
  readonly batch?: BatchSettings;
  readonly attempts: number;
  readonly backoff: ResolvedBackoff | BackoffFunction;
  /** Time limit of a run, in ms. */
  readonly timeout?: number;
  /** In ms after the due time. */
  readonly expireAfter?: number;
  /** Whether an expired job becomes a dead letter. */
  readonly keepsExpired?: boolean;
  /** `limit` in the form the ledger takes. */
  readonly limits?: Limits;
  readonly limit?: TubeLimits;
  /** The tube's schema, which checks payloads before the handler gets them. */
  readonly schema?: StandardSchemaV1;
  /** The tube's codecs. @default only JSON is read */
  readonly codecs?: TubeCodecs | undefined;
}

const KNOWN = ['concurrency', 'attempts', 'backoff', 'timeout', 'expireAfter', 'onExpired', 'limit', 'batch'];
export const DEFAULT_HANDLER_SETTINGS: HandlerSettings = {
  concurrency: 10,
  attempts: 10,
  backoff: DEFAULT_BACKOFF,
};

/** Options of any handler: of single jobs, or of batches. */
export type GivenOptions = Omit<HandlerOptions, 'cluster'> & Partial<Pick<BatchHandlerOptions, 'batch'>>;

/**
 * Checks the options of a handler. Throws `DQ_BAD_OPTION`, or `DQ_BAD_DURATION` for a duration.
 * @param others Options that the caller handles itself. The error for an unknown option also lists them.
 */
export function resolveHandlerOptions(
  options: GivenOptions = {},
  defaults: HandlerSettings = DEFAULT_HANDLER_SETTINGS,
  others: readonly string[] = [],
): HandlerSettings {
  if (typeof options !== 'object' || options === null) {
    throw new DqError('DQ_BAD_OPTION', `the handler options are ${show(options)}: expected an object`);
  }
  refuseUnknown(options, new Set([...KNOWN, ...others]), 'handler');
  const { concurrency, attempts, backoff, timeout, expireAfter, onExpired, limit: given } = options;
  const limit = given === undefined ? undefined : resolveLimit(given);
  return {
    concurrency: concurrency === undefined ? defaults.concurrency : checkCount('concurrency', concurrency),
    batch: options.batch === undefined ? undefined : resolveBatch(options.batch, limit),
    attempts: attempts === undefined ? defaults.attempts : checkCount('attempts', attempts),
    backoff:
      backoff === undefined
        ? defaults.backoff
        : typeof backoff === 'function'
          ? backoff
          : resolveBackoff(backoff),
    timeout: timeout === undefined ? defaults.timeout : checkTimeout(timeout),
    expireAfter: expireAfter === undefined ? defaults.expireAfter : checkExpireAfter(expireAfter),
    keepsExpired: onExpired === undefined ? defaults.keepsExpired : checkOnExpired(onExpired) === 'letter',
    limit,
    limits: limit && limitsOf(limit),
  };
}

/** Returns how many runs a process runs at once. */
export function slotsOf({ concurrency, batch, limit }: HandlerSettings): number {
  return Math.min(concurrency * (batch?.size ?? 1), limit?.concurrency ?? Infinity);
}

/** Returns the settings with what an operator changed. */
export function changedBy(settings: HandlerSettings, change: LimitChange | undefined): HandlerSettings {
  if (!change) return settings;
  const { concurrency = settings.concurrency } = change;
  const limit = change.limit ? { ...settings.limit, ...change.limit } : settings.limit;
  return { ...settings, concurrency, limit, limits: limit && limitsOf(limit) };
}

/** Checks the defaults of all handlers in the same way. */
export function resolveHandlerDefaults(
  options?: Omit<HandlerOptions, 'cluster' | 'deadLetters' | 'keepDone' | 'limit'>,
): HandlerSettings {
  const { limit, batch }: GivenOptions = options ?? {};
  if (batch !== undefined)
    throw wrongValue(
      'DQ_BAD_OPTION',
      '`batch`',
      batch,
      'it on a handler, because its method must take batches',
    );
  if (limit !== undefined)
    throw wrongValue(
      'DQ_BAD_OPTION',
      '`limit`',
      limit,
      'it on a handler, because each tube has its own limits',
    );
  return resolveHandlerOptions(options);
}

function checkTimeout(timeout: Duration): number {
  const limit = parseDuration(timeout, '`timeout`');
  if (limit > 0) return limit;
  throw wrongValue('DQ_BAD_OPTION', '`timeout`', timeout, 'a duration longer than 0');
}

function checkOnExpired(onExpired: 'end' | 'letter'): 'end' | 'letter' {
  if (onExpired === 'end' || onExpired === 'letter') return onExpired;
  throw wrongValue('DQ_BAD_OPTION', '`onExpired`', onExpired, "'end' or 'letter'");
}
