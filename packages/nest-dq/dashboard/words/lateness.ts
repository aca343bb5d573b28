import type { ForecastWire } from '../../src/dashboard/wire.js';
import { t } from './language.js';
import { count, duration, time } from './say.js';

type Capacity = NonNullable<ForecastWire['capacity']>;

/** A capacity, and how it is known. */
export function capacityText(capacity: Capacity): string {
  const rate = count(Math.max(1, Math.round(capacity.perMinute)));
  if (capacity.by === 'limit') return t('capacity.limit', { rate });
  return t('capacity.measured', { rate, at: time(Date.parse(capacity.at)) });
}

/** When jobs start late, or that none does; undefined where it isn't known. */
export function latenessText({ capacity, late, stopped }: ForecastWire): string | undefined {
  if (!capacity || stopped) return undefined;
  if (late.length === 0) return t('late.none');
  const spans = late.slice(0, MAX_SPANS).map(({ from, to, upTo }) =>
    t('late.span', {
      from: time(Date.parse(from)),
      to: time(Date.parse(to)),
      upTo: duration(roughly(upTo)),
    }),
  );
  const more = late.length - spans.length;
  if (more > 0) spans.push(t('late.more', { more: count(more) }));
  return spans.join(t('late.and'));
}

const MAX_SPANS = 3;

/** To a minute: a forecast isn't more exact. */
function roughly(ms: number): number {
  return Math.max(1, Math.round(ms / 60_000)) * 60_000;
}
