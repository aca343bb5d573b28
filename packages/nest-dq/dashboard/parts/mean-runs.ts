import type { TubeHistoriesWire } from '../../src/dashboard/wire.js';
import { getData } from '../server/requests.js';
import { now } from '../state/live.js';
import { useLoad } from './load.js';

const MINUTE = 60_000;

/** How long a run takes on average, in ms, by tube, where that is known. Read again each minute: one answer for all tubes. */
export function useMeanRuns(): ReadonlyMap<string, number> {
  const turn = Math.floor(now.value / MINUTE);
  const { data } = useLoad(
    async (signal) => {
      const histories = await getData<TubeHistoriesWire>('history/tubes', {}, signal);
      return new Map(
        histories.flatMap(({ tube, meanRun }) => (meanRun === undefined ? [] : [[tube, meanRun] as const])),
      );
    },
    [turn],
    'mean runs',
  );
  return data ?? new Map();
}
