import { Injectable } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { DelayedHandler, type DelayedJob } from 'nest-dq';
import type { Page } from 'playwright-core';
import { eventually } from 'test-servers';
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

it('offers what helps a due job, and not to run it now', async () => {
  const app = await start();
  await app.control.pause(ORDERS, { by: 'ann@example.com' });
  await app.producer.now(ORDERS, {}, { key: 'held-up' });
  await app.producer.delay(ORDERS, {}, '2d', { key: 'waits' });
  await app.producer.now('nobody.runs', {}, { key: 'alone' });
  await app.addDead('no such mailbox', 'gone');
  const runNow = (page: Page) => page.getByRole('button', { name: /^Run now/ });

  const unconsumed = (await browser.open(app.at('job', { tube: 'nobody.runs', key: 'alone' }))).page;
  await unconsumed.locator('.why').getByRole('link', { name: 'Processes' }).waitFor();
  expect(await runNow(unconsumed).getAttribute('title')).toBe(
    'No effect: the job is already due (Tube not consumed)',
  );
  const dead = (await browser.open(app.at('job', { tube: 'mail.send', key: 'gone' }))).page;
  await dead.locator('.why').getByRole('link', { name: 'Dead letters' }).click();
  await dead.waitForURL(/#\/dead\?tube=mail\.send$/);

  const list = (await browser.open(app.at('waiting', { tube: ORDERS }), { locale: 'zh-CN' })).page;
  const held = list.getByRole('button', { name: '立即执行 held-up' });
  await list.locator('[title="无效：任务已到期（已暂停）"]').waitFor();
  expect(await held.getAttribute('aria-disabled')).toBe('true');
  expect(await list.getByRole('button', { name: '立即执行 waits' }).getAttribute('aria-disabled')).toBe(
    'false',
  );

  const page = await openReason(app, 'held-up', 'en-US');
  await page.locator('.why').getByText('Paused by ann@example.com').waitFor();
  expect(await runNow(page).getAttribute('title')).toBe('No effect: the job is already due (Tube paused)');
  await page.locator('.why').getByRole('button', { name: 'Resume order.cancel' }).click();
  await page.getByRole('heading', { level: 2, name: 'Done' }).waitFor();
}, 60_000);

@Injectable()
class Slow {
  @DelayedHandler('report.export', { concurrency: 1 })
  export(_payload: unknown, { signal }: DelayedJob): Promise<void> {
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  }
}

it('says that all slots are busy, and leads to what runs there', async () => {
  const app = await start({ providers: [Slow] });
  const running = await app.producer.now('report.export', {}, { key: 'report-1' });
  await eventually('the first runs', async () => (await app.producer.find(running))?.state === 'running');
  await app.producer.now('report.export', {}, { key: 'report-2' });
  const at = app.at('job', { tube: 'report.export', key: 'report-2' });
  const { page } = await browser.open(at);
  const why = page.locator('.why');
  await why.getByText(/but the only slot of tube report\.export is busy, its run since [\d:]+/).waitFor();
  expect(await page.getByRole('button', { name: /^Run now/ }).getAttribute('title')).toBe(
    'No effect: the job is already due (All slots busy)',
  );
  const { page: zh } = await browser.open(at, { locale: 'zh-CN' });
  await zh.getByText(/但队列 report\.export 的 1 个处理槽全忙，最早的执行始于 [\d:]+/).waitFor();
  await why.getByRole('link', { name: 'Running now' }).click();
  await page.getByRole('main').getByRole('link', { name: 'report-1' }).waitFor();
  await app.producer.revoke({ tube: 'report.export', key: 'report-2' });
  await app.producer.revoke({ tube: 'report.export', key: 'report-1' }, { abort: true });
}, 60_000);
