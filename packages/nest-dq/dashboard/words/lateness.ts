import type { ForecastWire } from '../../src/dashboard/wire.js';
import { t } from './language.js';
import { count, duration, minuteTime, time } from './say.js';

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
  return spansText(late);
}

const MAX_SPANS = 3;

/** The first times at which jobs start late, to a minute: a forecast isn't more exact. */
export function spansText(late: ForecastWire['late']): string {
  const spans = late.slice(0, MAX_SPANS).map(({ from, to, upTo }) =>
    t('late.span', {
      from: minuteTime(Date.parse(from)),
      to: minuteTime(Date.parse(to)),
      upTo: duration(upTo),
    }),
  );
  const more = late.length - spans.length;
  if (more > 0) spans.push(t('late.more', { more: count(more) }));
  return spans.join(t('late.and'));
}
