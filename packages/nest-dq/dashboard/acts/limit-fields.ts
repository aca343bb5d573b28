import type { SingleActs } from '../../src/dashboard/wire.js';

/** The fields of the dialog that changes limits, as typed. */
export interface LimitFields {
  /** Runs started per second, across all processes. */
  readonly rate: string;
  /** Concurrent runs across all processes. */
  readonly concurrency: string;
  /** Concurrent runs in each process. */
  readonly perProcess: string;
}

const POSITIVE = /^[1-9]\d{0,6}$/;

export const NO_LIMITS: LimitFields = { rate: '', concurrency: '', perProcess: '' };
export const LIMIT_NAMES = ['rate', 'concurrency', 'perProcess'] as const;

/** Whether something was typed that isn't a positive whole number. */
export function areWrong(fields: LimitFields): boolean {
  return LIMIT_NAMES.some((name) => fields[name].trim() !== '' && !POSITIVE.test(fields[name].trim()));
}

/** Returns what the act takes; undefined if nothing was typed, or something that isn't a positive whole number. */
export function typedLimits(
  fields: LimitFields,
): Pick<SingleActs['setLimits']['body'], 'concurrency' | 'limit'> | undefined {
  const typed = LIMIT_NAMES.filter((name) => fields[name].trim() !== '');
  if (typed.length === 0 || areWrong(fields)) return undefined;
  const value = (name: (typeof LIMIT_NAMES)[number]) =>
    typed.includes(name) ? Number(fields[name]) : undefined;
  const [rate, concurrency, perProcess] = LIMIT_NAMES.map(value);
  const limit = { ...(rate !== undefined && { rate }), ...(concurrency !== undefined && { concurrency }) };
  return {
    ...(perProcess !== undefined && { concurrency: perProcess }),
    ...(Object.keys(limit).length > 0 && { limit }),
  };
}
