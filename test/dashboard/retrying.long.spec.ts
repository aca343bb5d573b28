// The page of a job that is retried, of one that isn't there, and what can be copied from them.
import { hostname } from 'node:os';
import { Injectable } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { DelayedHandler } from 'nest-dq';
import type { Page } from 'playwright-core';
import { eventually } from 'test-servers';
import { accessibilityFindings, browserSuite } from './browser.js';
import { dashboardApps, ORDERS, type DashboardApp } from './dashboard-app.js';

const TUBE = 'payment.collect';
const MESSAGE = `no answer from the provider\n${'a long line '.repeat(20)}`;

@Injectable()
class Failing {
  @DelayedHandler(TUBE, { attempts: 6, backoff: (attempt) => (attempt === 1 ? 0 : '1h') })
  collect(): never {
    throw new RangeError(MESSAGE);
  }
}

const browser = browserSuite();
const start = dashboardApps();

/** An application with a job that failed twice and waits for its third attempt. */
async function startRetrying(
  dashboard: object = {},
): Promise<{ app: DashboardApp; id: string; ref: string }> {
  const app = await start({ providers: [Failing], dashboard });
  const payload = { order: 42, lines: [{ sku: 'a-1', pieces: 2 }], note: null };
  const options = { key: 'order-42', headers: { traceparent: '00-abc' } };
  const { id, ref } = await app.producer.now(TUBE, payload, options);
  await eventually('it failed twice', async () => {
    const found = await app.producer.find(ref);
    return found?.state === 'retrying' && found.attempt === 2;
  });
  return { app, id, ref };
}

const steps = (page: Page) =>
  page
    .getByRole('list')
    .filter({ has: page.locator('.step') })
    .getByRole('listitem');

it('shows each attempt with its error, process and duration, and when the next one is', async () => {
  const { app, id } = await startRetrying();
  const { page } = await browser.open(app.at('job', { tube: TUBE, id }));
  await page.getByRole('heading', { level: 1, name: 'order-42' }).waitFor();
  await page.locator('.title').getByText('Attempt 2 of 6').waitFor();
  const told = await steps(page).allInnerTexts();
  expect(told.map((text) => text.split('\n')[0])).toEqual([
    'Added',
    'Due',
    'Attempt 1 of 6',
    'Attempt 2 of 6',
    'Attempt 3 of 6',
  ]);
  for (const attempt of [2, 3]) {
    expect(told[attempt]).toContain(`${hostname()}:${process.pid}`);
    expect(told[attempt]).toMatch(/failed after \d+ms/);
  }
  expect(told[4]).toMatch(/in (1h|59m)/);
  const error = steps(page).nth(3).locator('details');
  expect((await error.locator('summary').boundingBox())!.height).toBeLessThan(30);
  await error.locator('summary').click();
  expect((await error.locator('summary').boundingBox())!.height).toBeGreaterThan(30);
  expect(await error.locator('summary').innerText()).toContain('a long line '.repeat(20).trim());
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await accessibilityFindings(page)).toEqual([]);
  }
});

it('lists a job that is retried with its last error, which opens, and its tube leads there', async () => {
  const { app } = await startRetrying();
  const { page } = await browser.open(app.at(`tubes/${TUBE}`));
  await page
    .getByRole('region', { name: 'Job counts' })
    .getByRole('link', { name: 'of which retrying: 1' })
    .click();
  await page.waitForURL(/#\/waiting\?tube=payment\.collect&state=retrying$/);
  const error = page.getByRole('button', { name: /^RangeError: no answer from the provider/ });
  expect((await error.boundingBox())!.height).toBeLessThan(30);
  await error.click();
  const whole = page.getByLabel('Last error');
  expect(await whole.innerText()).toBe(`RangeError: ${MESSAGE}`);
  expect(await accessibilityFindings(page)).toEqual([]);
  await page.goto(app.at('waiting'));
  await error.waitFor();
  const { page: zh } = await browser.open(app.at('waiting', { tube: TUBE }), { locale: 'zh-CN' });
  await zh.getByRole('columnheader', { name: '最近错误' }).waitFor();
});

it('copies key, id, reference and payload, whose branches close', async () => {
  const { app, id } = await startRetrying();
  const permissions = ['clipboard-read', 'clipboard-write'];
  const { page } = await browser.open(app.at('job', { tube: TUBE, id }), { permissions });
  const copied = async (what: string) => {
    await page.getByRole('button', { name: `Copy: ${what}` }).click();
    await page.getByRole('button', { name: `Copied: ${what}` }).waitFor();
    return page.evaluate(() => (globalThis as any).navigator.clipboard.readText() as Promise<string>);
  };
  expect(await copied('Key')).toBe('order-42');
  expect(await copied('ID')).toBe(id);
  const found = await app.producer.find({ ref: await copied('Reference') } as never);
  expect(found).toMatchObject({ id, key: 'order-42' });
  await page.getByRole('button', { name: 'Show payload' }).click();
  await page.getByText('"order": 42').waitFor();
  expect(JSON.parse(await copied('Payload'))).toMatchObject({ order: 42, note: null });
  const pieces = page.getByText('"pieces": 2');
  await pieces.waitFor();
  await page.getByText('"lines": [').click();
  await pieces.waitFor({ state: 'detached' });
  expect(await accessibilityFindings(page)).toEqual([]);
});

it('shows headers to those who may see payloads, unless something is redacted', async () => {
  const { app, id } = await startRetrying();
  const { page } = await browser.open(app.at('job', { tube: TUBE, id }));
  await page.getByText('"traceparent": "00-abc"').waitFor();
  for (const dashboard of [{ access: () => 'read' }, { redact: () => '(hidden)' }]) {
    const other = await startRetrying(dashboard);
    const view = await browser.open(other.app.at('job', { tube: TUBE, id: other.id }));
    await view.page.getByText('Attempt 2 of 6').first().waitFor();
    expect(await view.page.content()).not.toContain('traceparent');
  }
}, 60_000);

it('runs a job with an edited payload', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, { order: 42 }, '1h', { key: 'order-42' });
  const { page } = await browser.open(app.at('job', { tube: ORDERS, key: 'order-42' }));
  await page.getByRole('button', { name: 'Show payload' }).click();
  await page.getByRole('button', { name: 'Edit and run' }).click();
  const dialog = page.getByRole('dialog');
  const run = dialog.getByRole('button', { name: 'Edit and run' });
  await dialog.getByRole('textbox').fill('{ "order": ');
  expect(await run.isDisabled()).toBe(true);
  expect(await accessibilityFindings(page)).toEqual([]);
  await dialog.getByRole('textbox').fill('{ "order": 43 }');
  await run.click();
  await eventually('it ran', () => app.ran.length === 1);
  expect(app.ran).toEqual([{ order: 43 }]);
});

it('says that a job is not there, and makes nothing up', async () => {
  const app = await start();
  const { page } = await browser.open(app.at('job', { tube: ORDERS, key: 'order-7' }));
  await page.getByRole('heading', { level: 2, name: 'No such job' }).waitFor();
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('order-7');
  expect(await page.getByRole('button', { name: /payload/i }).count()).toBe(0);
  expect(await page.getByText('ID', { exact: true }).count()).toBe(0);
});

it('calls a job due that is due, as the list does', async () => {
  const app = await start();
  await app.control.pause(ORDERS);
  await app.producer.now(ORDERS, {}, { key: 'order-8' });
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  await page.getByRole('main').getByRole('link', { name: 'order-8' }).click();
  await page.getByRole('heading', { level: 1, name: 'order-8' }).waitFor();
  await page.locator('.title .badge').getByText('due', { exact: true }).waitFor();
  expect(await page.getByText(/1,\d{3},\d{3},\d{3}/).count()).toBe(0); // beanstalkd's priority
});
