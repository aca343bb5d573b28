import type { TubeHistoriesWire } from '../../src/dashboard/wire.js';
import { firstHourOf, shortHistoryFrom, tubeHistoryOf, type TubeHistory } from '../figures/history.js';
import { spanOf, type Span } from '../figures/scales.js';
import { offsetAt } from '../figures/times.js';
import { zone } from '../figures/zone.js';
import { getData } from '../server/requests.js';
import { now } from '../state/live.js';
import { useLoad, type Loaded } from './load.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TWO_DAYS = 2 * 86_400_000;
/** An hour each, from the first in which anything ran, or minutes in the first two hours of a history. */
const MAX_BARS = 50;
/** Shorter histories leave room on the left, or their first minute would be as wide as the chart. */
const SHORTEST = 20 * MINUTE;

/** Histories of the tubes over two days. */
export interface Histories {
  readonly span: Span;
  readonly byTube: ReadonlyMap<string, TubeHistory>;
}

/** Read again each minute: one answer for all tubes. */
export function useHistories(): Loaded<Histories> {
  const turn = Math.floor(now.value / MINUTE);
  return useLoad(
    async (signal) => {
      const told = await getData<TubeHistoriesWire>('history/tubes', {}, signal);
      const end = now.peek();
      const first = shortHistoryFrom(told);
      const start = Math.min(first ?? firstHourOf(told) ?? end - TWO_DAYS, end - SHORTEST);
      const step = first === undefined ? HOUR : MINUTE;
      const span = spanOf(start, end, Math.min(MAX_BARS, Math.ceil((end - start) / step) + 1), offsetAt);
      return { span, byTube: new Map(told.map((each) => [each.tube, tubeHistoryOf(each, span)])) };
    },
    [turn, zone.value],
    'histories',
  );
}
