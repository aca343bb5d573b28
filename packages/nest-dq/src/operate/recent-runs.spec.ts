import { expect, it } from '@jest/globals';
import { NUMBERS, PLACES } from '../events/tally.js';
import { ALL_TUBES } from '../fleet/history.js';
import { LocalHistory } from '../fleet/local-history.js';
import { recentRuns } from './recent-runs.js';

it('counts how runs ended in the last whole quarter of an hour and the current one, also across an hour', async () => {
  const hour = 500_000 * 60; // minutes
  const history = new LocalHistory(() => (hour + 5) * 60_000);
  const counts = (completed: number, failed: number, scheduled = 0) => {
    const all = Array.from({ length: NUMBERS }, () => 0);
    Object.assign(all, {
      [PLACES.completed]: completed,
      [PLACES.failed]: failed,
      [PLACES.scheduled]: scheduled,
    });
    return all;
  };
  const add = (minute: number, tube: string, numbers: number[]) =>
    history.add([{ minute: hour + minute, tube, counts: numbers }]);
  await add(-16, 'mail', counts(100, 100));
  await add(-15, 'mail', counts(1, 2));
  await add(5, 'mail', counts(3, 4));
  await add(5, 'added', counts(0, 0, 9));
  await add(5, ALL_TUBES, counts(3, 4));
  expect(await recentRuns(history)).toEqual(new Map([['mail', { completed: 4, failed: 6 }]]));
});
