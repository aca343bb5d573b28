// Dialogs that are open while Redis, or the application, is away.
import { expect, it } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { eventually, Proxy } from 'test-servers';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';
import { accessibilityFindings, browserSuite } from './browser.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const suite = clusterSuite();
const browser = browserSuite();
const start = dashboardApps();

const AWAY = /status of 503|answered 503|failed: GET|ERR_/;
const NO_REDIS = 'Not possible while Redis is down';
const NO_APP = 'Not possible without a connection to the application';

/** The dialog says why its button does nothing. */
async function isBlocked(dialog: Locator, name: string, why: string): Promise<void> {
  await dialog.getByRole('status').filter({ hasText: why }).waitFor({ timeout: 40_000 });
  const button = dialog.getByRole('button', { name });
  expect(await button.getAttribute('aria-disabled')).toBe('true');
  expect(await button.getAttribute('title')).toBe(why);
  await button.click({ force: true });
}

async function isFree(dialog: Locator, name: string, why: string): Promise<void> {
  await dialog.getByText(why).waitFor({ state: 'detached', timeout: 40_000 });
  await eventually(
    `${name} works again`,
    async () => (await dialog.getByRole('button', { name }).getAttribute('aria-disabled')) !== 'true',
  );
}

it('a dialog can not be confirmed in an outage, and keeps what was typed until it can', async () => {
  const { redis } = suite.servers;
  const app = await start({ jobs: { ...optionsOf(suite.servers), repair: false } });
  const receipt = await app.producer.delay(ORDERS, {}, '30m', { key: 'order-42' });
  const before = receipt.dueAt.getTime();
  const { hostname: host, port } = new URL(app.url);
  const proxy = await Proxy.to({ host, port: Number(port) });
  const at = app.at('job', { ref: receipt.ref }).replace(new URL(app.url).origin, `http://${proxy.endpoint}`);
  const { page, problems } = await browser.open(at);
  problems.expect(AWAY);
  await page.getByRole('button', { name: /^Reschedule/ }).click();
  const dialog = page.getByRole('dialog');
  const field = dialog.getByRole('textbox');
  await field.fill('5h');

  await redis.kill();
  await isBlocked(dialog, 'Reschedule', NO_REDIS);
  await field.press('Enter');
  expect(await accessibilityFindings(page)).toEqual([]);
  await redis.restart();
  await isFree(dialog, 'Reschedule', NO_REDIS);
  expect(await field.inputValue()).toBe('5h');

  proxy.cut();
  await isBlocked(dialog, 'Reschedule', NO_APP);
  proxy.restore();
  await isFree(dialog, 'Reschedule', NO_APP);
  expect(await field.inputValue()).toBe('5h');
  expect((await app.producer.find(receipt.ref))!.dueAt.getTime()).toBe(before);

  await field.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await eventually(
    'it is due in five hours',
    async () => (await app.producer.find(receipt.ref))!.dueAt.getTime() - before >= 4 * 3_600_000,
  );
  await page.context().close();
  await proxy.stop();
}, 180_000);

it('an act on many waits for the end of an outage, with its limit', async () => {
  const { redis } = suite.servers;
  const app = await start({ jobs: { ...optionsOf(suite.servers), repair: false } });
  for (const key of ['a', 'b', 'c']) await app.producer.delay(ORDERS, {}, '30m', { key });
  const { page, problems } = await browser.open(app.at('waiting', { tube: ORDERS }));
  problems.expect(AWAY);
  await page.getByRole('link', { name: 'a', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Revoke all matching' }).click();
  const dialog = page.getByRole('dialog');
  const most = dialog.getByRole('spinbutton', { name: 'At most' });
  await most.fill('2');

  await redis.kill();
  await isBlocked(dialog, 'Revoke 2 jobs', NO_REDIS);
  await redis.restart();
  await isFree(dialog, 'Revoke 2 jobs', NO_REDIS);
  expect(await most.inputValue()).toBe('2');
  await dialog.getByRole('button', { name: 'Revoke 2 jobs' }).click();
  await dialog.getByText('Done. Changed: 2.').waitFor();
}, 180_000);
