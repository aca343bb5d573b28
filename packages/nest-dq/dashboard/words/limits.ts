import type { TubeWire } from '../../src/dashboard/wire.js';
import { t } from './language.js';
import { count, duration } from './say.js';

/** The limits of a tube in a few words. */
export function limitsText(limits: TubeWire['limits']): string {
  if (!limits) return '–';
  const { rate, per, concurrency, perGroup, unequal } = limits;
  return [
    rate !== undefined && t('limits.rate', { rate: count(rate), per: duration(per) }),
    concurrency !== undefined && t('limits.concurrency', { runs: count(concurrency) }),
    perGroup !== undefined && t('limits.perGroup', { runs: count(perGroup) }),
    unequal && t('limits.unequal'),
  ]
    .filter((each) => each)
    .join(', ');
}
