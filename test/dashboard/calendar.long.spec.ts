import { expect, it } from '@jest/globals';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

const DAY = 86_400_000;
const YEAR = new Date(Date.now()).getUTCFullYear() + 1;

/** When Europe changes its clocks: at one o'clock UTC. */
function lastSunday(month: number): number {
  const last = Date.UTC(YEAR, month + 1, 0, 1);
  return last - new Date(last).getUTCDay() * DAY;
}

/** `inside` and `outside`: hours from `change`, on both sides of the end of that day in local time of the zone. */
it.each([
  ['the day of 25 hours', 'Europe/Berlin', lastSunday(9), 21.5, 22.5],
  ['the day of 23 hours', 'Europe/Berlin', lastSunday(2), 20.5, 21.5],
  ['a day of a zone with half an hour', 'Asia/Kolkata', lastSunday(9), 17, 18],
])('has a bar for %s', async (_, timezoneId, change, inside, outside) => {
  const app = await start();
  for (const hours of [inside, outside])
    await app.producer.at(ORDERS, {}, new Date(change + hours * 3_600_000));
  const [from, to] = [-20, 20].map((days) => new Date(change + days * DAY).toISOString());
  const { page } = await browser.open(app.at('timeline', { from: from!, to: to! }), { timezoneId });
  await page.getByText('Table view').click();
  const rows = page.getByRole('table', { name: 'Table view' }).getByRole('row');
  await rows.nth(2).waitFor();
  const date = { timeZone: timezoneId, month: 'short', day: 'numeric', year: 'numeric' } as const;
  const day = (at: number) => `${new Intl.DateTimeFormat('en', date).format(at)}, 00:00`;
  const cells = (await rows.allInnerTexts())
    .slice(1)
    .map((text) => text.split('\t').map((cell) => cell.trim()));
  expect(cells).toEqual([
    [day(change), day(change + DAY), ORDERS, '1'],
    [day(change + DAY), day(change + 2 * DAY), ORDERS, '1'],
  ]);
});
