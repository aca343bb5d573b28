import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from 'test-servers';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

/** Presses Tab until an element whose name begins so has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      const element = (globalThis as any).document.activeElement;
      return String(element.getAttribute('aria-label') ?? element.textContent);
    });
    if (focused.startsWith(name)) return;
  }
  throw new Error(`60 presses of Tab did not lead to ${name}`);
}

it('goes through the pages, and revokes a job, by the keyboard alone', async () => {
  const app = await start();
  const receipt = await app.producer.delay(ORDERS, {}, '30m', { key: 'order-42' });
  const { page } = await browser.open(app.at('timeline'));
  await page.getByRole('link', { name: 'Timeline' }).waitFor();
  for (const name of ['Tubes', 'Waiting jobs', 'Dead letters', 'History', 'Cluster', 'Operator actions']) {
    await tabTo(page, name);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name }).waitFor();
  }
  await page.goto(app.at('job', { ref: receipt.ref }));
  await page.getByRole('heading', { name: 'order-42' }).waitFor();
  await tabTo(page, 'Revoke');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect((await app.producer.find(receipt.ref))!.state).toBe('waiting');
  await page.keyboard.press('Enter'); // the focus is back on the button
  await page.getByRole('dialog').waitFor();
  await tabTo(page, 'Revoke');
  await page.keyboard.press('Enter');
  await eventually('it is revoked', async () => (await app.producer.find(receipt.ref))!.state === 'revoked');
});

it('goes from bar to bar of the timeline, and into one', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '30m');
  const { page } = await browser.open(app.at('timeline'));
  await page.locator('rect.tube').waitFor();
  const chart = page.getByRole('slider');
  await chart.focus();
  await page.keyboard.press('Home');
  for (let bar = 0; !/: 1 due/.test((await chart.getAttribute('aria-valuetext'))!); bar++) {
    expect(bar).toBeLessThan(60);
    await page.keyboard.press('ArrowRight');
  }
  await page.keyboard.press('Enter');
  await eventually('the address names the span', async () => page.url().includes('from='));
});
