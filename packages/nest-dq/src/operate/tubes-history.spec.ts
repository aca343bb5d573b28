import { expect, it } from '@jest/globals';
import { LATENESS_CLASSES } from '../events/lateness-classes.js';
import { FIRST_CLASS, RUN_TIME, TIMED } from '../events/tally.js';
import { LocalHistory } from '../fleet/local-history.js';
import { VirtualClock } from 'nest-handlers/testing';
import { historyOfTubes } from './history-view.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Runs by class of lateness, the fastest first. */
const runs = (...started: number[]) =>
  Array.from({ length: LATENESS_CLASSES.length + 1 }, (_, i) => started[i] ?? 0);

/** An empty history, 40 minutes after the start of an hour. */
async function historyAt40() {
  const clock = new VirtualClock();
  await clock.advance(HOUR - (clock.wall() % HOUR) + 40 * MINUTE);
  const history = new LocalHistory(() => clock.wall());
  const minuteNow = clock.wall() / MINUTE;
  const started = (tube: string, ago: number, ...given: number[]) => {
    const counts = [...Array.from({ length: FIRST_CLASS }, () => 9), ...runs(...given)];
    return history.add([{ minute: minuteNow - ago, tube, counts }]);
  };
  return { history, minuteNow, started };
}

it('a count has a place for each class of lateness', () => {
  expect(runs()).toHaveLength(TIMED - FIRST_CLASS);
});

it('shows how much each tube runs now, and how late its runs began, by hour for two days', async () => {
  const { history, minuteNow, started } = await historyAt40();
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
        { at: hourOf(47 * 60), started: runs(1, 2) },
        { at: hourOf(0), started: runs(740, 0, 0, 0, 0, 10) },
      ],
      minutes: [],
    },
    { tube: 'seldom', perMinute: 0, hours: [{ at: hourOf(120), started: runs(0, 3) }], minutes: [] },
    { tube: 'only added', perMinute: 0, hours: [], minutes: [] },
  ]);
});

it('shows how long the latest runs took on average, where that is known', async () => {
  const { history, minuteNow, started } = await historyAt40();
  const ended = (ago: number, timed: number, ms: number) => {
    const counts = Array.from({ length: RUN_TIME + 1 }, () => 0);
    [counts[TIMED], counts[RUN_TIME]] = [timed, timed * ms * 1_000];
    return history.add([{ minute: minuteNow - ago, tube: 'timed', counts }]);
  };
  const mean = async () => (await historyOfTubes(history)).map(({ tube, meanRun }) => [tube, meanRun]);
  await started('by an older version', 5, 1);
  await ended(30 * 60, 2, 90);
  expect(await mean()).toEqual([
    ['timed', 90],
    ['by an older version', undefined],
  ]);
  await ended(40, 10, 20);
  await ended(20, 20, 2.5);
  expect(await mean()).toContainEqual(['timed', 2.5]);
});

it('shows a history of less than two hours by the minute, too', async () => {
  const { history, minuteNow, started } = await historyAt40();
  await started('often', 95, 1);
  await started('often', 3, 0, 2);
  await started('often', 3, 0, 3);
  await started('seldom', 0, 7);
  const at = (ago: number) => new Date((minuteNow - ago) * MINUTE);
  expect(await historyOfTubes(history)).toMatchObject([
    {
      tube: 'often',
      minutes: [
        { at: at(95), started: runs(1) },
        { at: at(3), started: runs(0, 5) },
      ],
    },
    { tube: 'seldom', minutes: [{ at: at(0), started: runs(7) }] },
  ]);
});

it('divides by the minutes that a new history has', async () => {
  const { history, started } = await historyAt40();
  await started('others', 4, 1);
  await started('often', 2, 240);
  expect(await historyOfTubes(history)).toContainEqual(
    expect.objectContaining({ tube: 'often', perMinute: 60 }),
  );
});
