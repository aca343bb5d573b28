import { expect, it } from '@jest/globals';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

it('shows an order that was added, and leads to why it did not run yet', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, { order: 42 }, '30m', { key: 'order-42' });
  const { page } = await browser.open(app.at('timeline'));
  await page.locator('rect.tube').click();
  await page
    .getByRole('main')
    .getByRole('link', { name: new RegExp(ORDERS) })
    .click();
  await page.getByRole('table').getByRole('link', { name: 'order-42' }).click();
  await page.getByRole('heading', { name: 'order-42' }).waitFor();
  await page.getByRole('region', { name: 'Why' }).getByRole('heading', { name: 'Not due yet' }).waitFor();
});

it('says the same in a table', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, { order: 1 }, '20m');
  await app.producer.delay(ORDERS, { order: 2 }, '20m');
  const { page } = await browser.open(app.at('timeline'));
  await page.getByText('Table view').click();
  const row = page.getByRole('row').filter({ hasText: ORDERS });
  expect(await row.getByRole('link').textContent()).toBe('2');
});

it('shows what comes due in a day and in a month where its hour has nothing', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '5h');
  await app.producer.delay(ORDERS, {}, '10d');
  const { page } = await browser.open(app.at('timeline'));
  const bars = page.locator('rect.tube');
  await page.getByRole('button', { name: 'Day' }).click();
  await bars.first().waitFor();
  expect(await bars.count()).toBe(1);
  await page.getByRole('button', { name: 'Month' }).click();
  await bars.nth(1).waitFor();
});

it('shows how many jobs are due already, which no bar has, and leads to them', async () => {
  const app = await start();
  await app.control.pause(ORDERS);
  const { id } = await app.producer.now(ORDERS, {});
  const { page } = await browser.open(app.at('timeline'));
  await page.getByRole('link', { name: 'Due already, not started: 1' }).click();
  await page.getByRole('link', { name: id }).waitFor();
});

it('shows which tube has a problem, and leads to its jobs', async () => {
  const app = await start();
  await app.control.pause(ORDERS);
  const { id } = await app.producer.now(ORDERS, {});
  const { page } = await browser.open(app.at('timeline'));
  const problems = page.getByRole('region', { name: 'Problems' });
  await problems.getByRole('row').filter({ hasText: ORDERS }).getByRole('link', { name: '1' }).click();
  await page.getByRole('link', { name: id }).waitFor();
});

it('keeps the chosen bar in the address, so that Back and a link lead to it', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '10d', { key: 'order-42' });
  const { page } = await browser.open(app.at('timeline', { span: 'month' }));
  await page.locator('rect.tube').click();
  const list = page
    .getByRole('main')
    .locator('.links')
    .getByRole('link', { name: new RegExp(ORDERS) });
  await list.click();
  await page.getByRole('table').getByRole('link', { name: 'order-42' }).waitFor();
  await page.goBack();
  await list.waitFor();
  const { page: other } = await browser.open(page.url());
  await other
    .locator('.links')
    .getByRole('link', { name: new RegExp(ORDERS) })
    .waitFor();
  await other.getByRole('slider').press('Escape');
  await other.locator('.links').waitFor({ state: 'detached' });
});
