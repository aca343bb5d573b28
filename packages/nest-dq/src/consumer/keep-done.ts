import type { KeepDoneOptions } from '../api/job.js';
import { show, unknownName, wrongValue } from '../errors.js';
import { parseDuration } from '../time/duration.js';

/** Which completed jobs of a tube the ledger keeps. */
export interface KeepDone {
  /** How long, in ms. */
  readonly period: number;
  readonly max: number;
  /** Whether with what their handler returned. */
  readonly result: boolean;
}

const LEAST_PERIOD = 60_000;
const MOST_JOBS = 1_000_000;
const KNOWN = ['for', 'max', 'result'];
const DEFAULTS: KeepDone = { period: 7 * 86_400_000, max: 10_000, result: true };

/** Checks an option `keepDone`. Returns undefined if nothing is to be kept. Throws `DQ_BAD_OPTION`, `DQ_BAD_DURATION`. */
export function resolveKeepDone(
  given: KeepDoneOptions | false | undefined,
  defaults: KeepDone | undefined,
): KeepDone | undefined {
  if (given === undefined) return defaults;
  if (given === false) return undefined;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    const expected = "an object such as { for: '7d', max: 10_000 }, or false";
    throw wrongValue('DQ_BAD_OPTION', '`keepDone`', given, expected);
  }
  for (const [name, value] of Object.entries(given)) {
    if (KNOWN.includes(name) || value === undefined) continue;
    throw unknownName('DQ_BAD_OPTION', `\`keepDone.${name}\` (given ${show(value)})`, KNOWN);
  }
  const { period, max, result } = defaults ?? DEFAULTS;
  return {
    period: given.for === undefined ? period : checkPeriod(given.for),
    max: given.max === undefined ? max : checkMax(given.max),
    result: given.result === undefined ? result : checkResult(given.result),
  };
}

function checkPeriod(period: NonNullable<KeepDoneOptions['for']>): number {
  const ms = parseDuration(period, '`keepDone.for`');
  if (ms >= LEAST_PERIOD) return Math.ceil(ms);
  throw wrongValue('DQ_BAD_OPTION', '`keepDone.for`', period, `${LEAST_PERIOD} ms or more`);
}

function checkMax(max: number): number {
  if (Number.isSafeInteger(max) && max >= 1 && max <= MOST_JOBS) return max;
  throw wrongValue('DQ_BAD_OPTION', '`keepDone.max`', max, `1 to ${MOST_JOBS} (the maximum)`);
}

function checkResult(result: boolean): boolean {
  if (typeof result === 'boolean') return result;
  throw wrongValue('DQ_BAD_OPTION', '`keepDone.result`', result, 'true or false');
}
