import { unknownName, wrongValue } from '../errors.js';

/** Checks and returns the options of a call. `DQ_BAD_OPTION` if there is an unknown one. */
export function checkObject<T extends object>(
  what: string,
  options: T | undefined,
  known: readonly (keyof T & string)[],
): T {
  if (options === undefined) return {} as T;
  if (typeof options !== 'object' || options === null) {
    throw wrongValue('DQ_BAD_OPTION', what, options, 'an object');
  }
  const unknown = Object.keys(options).find((name) => !(known as readonly string[]).includes(name));
  if (unknown === undefined) return options;
  throw unknownName('DQ_BAD_OPTION', `${JSON.stringify(unknown)} in ${what}`, known);
}

export function checkBoolean(name: string, value: unknown): void {
  if (typeof value === 'boolean') return;
  throw wrongValue('DQ_BAD_OPTION', `\`${name}\``, value, 'true or false');
}

export function checkBetween(name: string, value: unknown, least: number, most: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return;
  throw wrongValue('DQ_BAD_OPTION', `\`${name}\``, value, `${least} to ${most}`);
}
