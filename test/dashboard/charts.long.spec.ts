import { expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { eventually } from 'test-servers';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS, type DashboardApp } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

/** The class with the colour of each tube, by its name in the legend. */
async function colours(page: Page): Promise<Map<string, string>> {
  const legend = page.locator('.legend li:has(.tube)');
  await legend.first().waitFor();
  const entries = await legend.evaluateAll((items: any[]) =>
    items.map((item) => [item.textContent as string, item.querySelector('i').className as string] as const),
  );
  return new Map(entries);
}

it('a tube keeps its colour when others have more jobs, on a zoom and after a reload', async () => {
  const app = await start();
  const tubes = ['order.remind', 'mail.later', 'trial.expire', 'invoice.remind'];
  for (const [i, tube] of tubes.entries())
    for (let job = 0; job <= i; job++) await app.producer.delay(tube, {}, '40m');
  const { page } = await browser.open(app.at('timeline'));
  await page.locator('.legend li:has(.tube)').nth(3).waitFor();
  const first = await colours(page);
  expect(new Set(first.values()).size).toBe(4);
  for (let job = 0; job < 9; job++) await app.producer.delay(tubes[0]!, {}, '20m');
  await page.getByRole('button', { name: 'Day' }).click();
  await page.getByRole('heading', { name: 'Jobs due in this period: 19' }).waitFor();
  expect(await colours(page)).toEqual(first);
  await page.reload();
  await page.locator('.legend li:has(.tube)').nth(3).waitFor();
  expect(await colours(page)).toEqual(first);
});

it('the timeline shows the values of the bar under the pointer, by tube', async () => {
  const app = await start();
  for (let job = 0; job < 3; job++) await app.producer.delay('mail.later', {}, '30m');
  const { page } = await browser.open(app.at('timeline', { span: 'month' }));
  const bar = page.locator('rect.tube').first();
  await bar.hover();
  const tooltip = page.locator('.tooltip');
  await tooltip.waitFor();
  const [at, shown, ground] = await Promise.all([bar, tooltip, page.locator('rect.hovered')].map(boxOf));
  const middle = at!.left + at!.width / 2;
  // Next to the bar, whose ground is another one.
  expect(shown!.left - middle).toBeCloseTo(8, -1);
  expect([ground!.left < middle, ground!.right > middle]).toEqual([true, true]);
  expect(await tooltip.locator('.row').allTextContents()).toEqual(['mail.later3']);
  await page.mouse.move(5, 5);
  await tooltip.waitFor({ state: 'detached' });
  await app.producer.delay('mail.later', {}, '29d');
  const last = page.locator('rect.tube').nth(1);
  await last.hover();
  const [edge, left] = await Promise.all([boxOf(last), boxOf(tooltip)]);
  expect(edge.left + edge.width / 2 - left.right).toBeCloseTo(8, -1); // where there is no room on the right
});

interface Rect {
  readonly left: number;
  readonly right: number;
  readonly width: number;
}

function boxOf(element: Locator): Promise<Rect> {
  return element.evaluate((each: any) => each.getBoundingClientRect().toJSON() as Rect);
}

async function runSome(app: DashboardApp): Promise<void> {
  for (let job = 0; job < 5; job++) await app.producer.now(ORDERS, job);
  const minutes = () =>
    app.inspector.history({ tube: ORDERS, from: new Date(Date.now() - 600_000), to: new Date() });
  await eventually('the history has the runs', async () =>
    (await minutes()).some(({ started }) => started > 0),
  );
}

it('the lateness of prompt runs is shown in milliseconds, and a line is seen in the first minute', async () => {
  const app = await start();
  await runSome(app);
  const { page } = await browser.open(app.at('tubes'));
  const row = page.getByRole('row', { name: new RegExp(ORDERS) });
  const spark = row.getByRole('img', { name: 'Run lateness' });
  await spark.locator('.line').first().waitFor({ state: 'attached' }); // a level line has no height
  const drawn = await spark
    .locator('.line')
    .first()
    .evaluate((path: any) => path.getBBox().width as number);
  expect(drawn).toBeGreaterThan(3);
  const cells = await row.getByRole('cell').locator('.value').allTextContents();
  const late = cells.filter((text) => text.startsWith('≤'));
  expect(late).toHaveLength(2);
  for (const text of late) expect(text).toMatch(/^≤ (\d+ms|[125]s)$/);
}, 60_000);
