/** What is checked of options at many doors. */
import { KqError, show, unknownName, wrongValue, type KqErrorCode } from '../errors.js';

/** It is an object that has no other fields. */
export function checkOptions(
  code: KqErrorCode,
  whose: string,
  options: unknown,
  known: readonly string[],
): void {
  const what = `the options of ${whose}`;
  if (typeof options !== 'object' || options === null)
    throw new KqError(code, `${what} are ${show(options)}: expected an object with ${known.join(', ')}`);
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownName(code, `\`${unknown}\` in ${what}`, known);
}

export function wholeNumber(
  code: KqErrorCode,
  what: string,
  value: unknown,
  least: number,
  most: number,
): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw wrongValue(code, what, value, `a whole number from ${least} to ${most}`);
}
