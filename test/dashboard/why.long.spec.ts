import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS, type DashboardApp } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

async function openReason(app: DashboardApp, key: string, locale: string): Promise<Page> {
  const { page } = await browser.open(app.at('job', { tube: ORDERS, key }), { locale });
  await page.locator('.why p').waitFor();
  return page;
}

it('says why a job has not run in the language of the page', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '2d', { key: 'waits' });
  await app.control.pause(ORDERS);
  await app.producer.now(ORDERS, {}, { key: 'held-up' });
  const reason = async (key: string, locale: string) =>
    (await openReason(app, key, locale)).locator('.why p').innerText();
  expect(await reason('waits', 'en-US')).toMatch(
    /^Not due until [A-Z][a-z]+ \d+,? [\d:]+( [AP]M)? \(in 1d 23h\)\.$/,
  );
  expect(await reason('waits', 'zh-CN')).toMatch(/^将于 \d+月\d+日 [\d:]+ 到期，还有 1天 23小时。$/);
  expect(await reason('held-up', 'zh-CN')).toMatch(
    /^已于 [\d:]+ 到期（.*），但队列 order\.cancel 自 [\d:]+ 起暂停，直到手动恢复。$/,
  );
});
