import { expect, it } from '@jest/globals';
import { FIRST_CLASS, NUMBERS } from '../events/tally.js';
import { LocalHistory } from '../fleet/local-history.js';
import { VirtualClock } from 'nest-handlers/testing';
import { historyOfTubes } from './history-view.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

it('shows how much each tube runs now, and how late its runs began, by hour for two days', async () => {
  const clock = new VirtualClock();
  await clock.advance(HOUR - (clock.wall() % HOUR) + 40 * MINUTE);
  const history = new LocalHistory(() => clock.wall());
  const minuteNow = clock.wall() / MINUTE;
  const started = (tube: string, ago: number, ...runs: number[]) => {
    const counts = Array.from({ length: NUMBERS }, (_, i) =>
      i < FIRST_CLASS ? 9 : (runs[i - FIRST_CLASS] ?? 0),
    );
    return history.add([{ minute: minuteNow - ago, tube, counts }]);
  };
  await started('often', 47 * 60, 1, 2);
  await started('often', 26, 500); // before the last whole quarter, which began 25 minutes ago
  await started('often', 25, 40, 0, 0, 0, 0, 10);
  await started('often', 0, 200);
  await started('seldom', 120, 0, 3);
  await started('only added', 5);
  const hourOf = (ago: number) => new Date(Math.floor((minuteNow - ago) / 60) * HOUR);
  expect(await historyOfTubes(history)).toEqual([
    {
      tube: 'often',
      perMinute: 10,
      hours: [
        { at: hourOf(47 * 60), started: [1, 2, 0, 0, 0, 0] },
        { at: hourOf(0), started: [740, 0, 0, 0, 0, 10] },
      ],
    },
    { tube: 'seldom', perMinute: 0, hours: [{ at: hourOf(120), started: [0, 3, 0, 0, 0, 0] }] },
    { tube: 'only added', perMinute: 0, hours: [] },
  ]);
});
