// The page of finished jobs, and that of one job that is done.
import { hostname } from 'node:os';
import { Injectable } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { DelayedHandler } from 'nest-dq';
import { eventually } from 'test-servers';
import { accessibilityFindings, browserSuite, openSettings } from './browser.js';
import { dashboardApps, ORDERS, type DashboardApp } from './dashboard-app.js';

const TUBE = 'payment.collect';

@Injectable()
class Payments {
  @DelayedHandler(TUBE, { keepDone: { for: '1h', max: 1_000 } })
  collect(payload: unknown): unknown {
    return payload === 'long' ? 'x'.repeat(2_000) : { paid: true, payload };
  }
}

const browser = browserSuite();
const start = dashboardApps();

async function finish(app: DashboardApp, key: string, payload: unknown = key): Promise<void> {
  const receipt = await app.producer.now(TUBE, payload, { key });
  await eventually('it is done', async () => (await app.producer.find(receipt))?.state === 'done');
}

it('lists the jobs of a tube that are done, and says how many have ended since', async () => {
  const app = await start({ providers: [Payments] });
  await finish(app, 'order-1');
  await finish(app, 'order-2');
  const { page } = await browser.open(app.at('finished', { tube: TUBE }));
  const main = page.getByRole('main');
  const rows = main.getByRole('row');
  await main.getByRole('link', { name: 'order-2' }).waitFor();
  expect((await rows.allInnerTexts()).map((text) => /order-\d/.exec(text)?.[0])).toEqual([
    undefined,
    'order-2',
    'order-1',
  ]);
  await rows.nth(1).getByText(`${hostname()}:${process.pid}`).waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  await finish(app, 'order-3');
  await page.getByRole('status').getByText('1 new').waitFor();
  expect(await rows.count()).toBe(3);
  await main.getByRole('button', { name: 'Refresh' }).click();
  await main.getByRole('link', { name: 'order-3' }).waitFor();
}, 60_000);

it('reads on page by page, and takes a range of time', async () => {
  const app = await start({ providers: [Payments] });
  await Promise.all(Array.from({ length: 60 }, (_, i) => finish(app, `order-${i + 100}`)));
  const { page } = await browser.open(app.at('finished', { tube: TUBE }));
  const main = page.getByRole('main');
  await main
    .getByRole('link', { name: /order-/ })
    .nth(49)
    .waitFor();
  await main.getByRole('button', { name: /more/i }).click();
  await main
    .getByRole('link', { name: /order-/ })
    .nth(59)
    .waitFor();
  await page.goto(app.at('finished', { tube: TUBE, to: '2020-01-01T00:00:00.000Z' }));
  await main.getByText('No finished jobs match').waitFor();
}, 60_000);

it('says what keeps jobs where none are', async () => {
  const app = await start();
  const { page } = await browser.open(app.at('finished', { tube: ORDERS }));
  await page.getByText('handlers with the option keepDone').waitFor();
}, 60_000);

it('shows how a job ended, with its result, and is reached from a search', async () => {
  const app = await start({ providers: [Payments] });
  await finish(app, 'order-42');
  await finish(app, 'order-43', 'long');
  const { page } = await browser.open(app.at('search', { q: 'order-42' }));
  await page.getByRole('heading', { level: 1, name: 'order-42' }).waitFor();
  const main = page.getByRole('main');
  await main.getByText(/^Completed at .+ in process .+, attempt 1, took /).waitFor();
  await main.getByRole('group', { name: 'Result' }).getByText('"paid"').waitFor();
  await main.getByText(/^done in /).waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  await page.goto(app.at('job', { tube: TUBE, key: 'order-43' }));
  await main.getByText('its JSON has more than 1,000 characters').waitFor();
  await openSettings(page);
  await page.getByRole('combobox', { name: 'Language' }).selectOption('zh');
  await main.getByText(/^于 .+ 在进程 .+ 中完成/).waitFor();
}, 60_000);
