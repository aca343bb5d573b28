import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS, type DashboardApp } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

const field = (page: Page) => page.getByRole('dialog').getByRole('combobox');
const selected = (page: Page) => page.getByRole('option', { selected: true });

/** Opens the palette on a page, by the keyboard, and types on at once. */
async function openOn(page: Page, key = 'Control+k', text = ''): Promise<void> {
  await page
    .getByText(/All well|No alarms/)
    .or(page.getByRole('region', { name: 'Status' }))
    .first()
    .waitFor();
  await page.keyboard.press(key);
  await page.keyboard.type(text);
  await field(page).waitFor();
}

async function withOrders(): Promise<DashboardApp> {
  const app = await start();
  for (const key of ['order-41', 'order-42', 'invoice-7'])
    await app.producer.delay(ORDERS, {}, '30m', { key });
  return app;
}

describe('the palette', () => {
  it.each(['Control+k', 'Meta+k', '/'])(
    'opens by %s, with the focus in its field, and closes by Escape',
    async (key) => {
      const app = await start();
      const { page } = await browser.open(app.at('timeline'));
      await openOn(page, key, 'dead');
      expect(await field(page).inputValue()).toBe('dead');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(page.url()).toContain('timeline');
    },
  );

  it('leads to a page, and to a tube by a part of its name', async () => {
    const app = await withOrders();
    const { page } = await browser.open(app.at('timeline'));
    await openOn(page);
    await field(page).fill('letters');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Dead letters' }).waitFor();
    await openOn(page);
    await field(page).fill('cancel');
    await selected(page).getByText(ORDERS).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: ORDERS }).waitFor();
  });

  it('waits some seconds for the jobs, and then says why there are none, not that it is loading', async () => {
    const app = await withOrders();
    const { page } = await browser.open(app.at('timeline'));
    await page.route('**/api/search/prefix*', () => undefined); // it hangs
    await openOn(page);
    await field(page).fill('order-4');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Loading…').waitFor();
    await dialog.getByText(/^No connection to the application/).waitFor();
    expect(await dialog.getByText('Loading…').count()).toBe(0);
    await field(page).fill('tub');
    await dialog.getByRole('option', { name: 'Tubes', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Tubes' }).waitFor();
  });

  it('suggests jobs by the beginning of their key, and says where it looked', async () => {
    const app = await withOrders();
    await app.addDead('no such mailbox', 'order-7');
    const { page } = await browser.open(app.at('timeline'));
    await openOn(page);
    await field(page).pressSequentially('order-');
    const jobs = page.getByRole('group', { name: 'Jobs' }).getByRole('option');
    await jobs.filter({ hasText: 'order-7' }).getByText('dead').waitFor();
    expect(await jobs.count()).toBe(3);
    await page
      .getByText('Looked in 2 tubes: jobs due next 3 of 3, latest dead letters 1, long runs 0.')
      .waitFor();
    await page.keyboard.press('ArrowUp'); // from the last option, the search in all tubes
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'order-7' }).waitFor();
  });

  it('looks only at the tube that the page is about', async () => {
    const app = await withOrders();
    await app.producer.delay(GIVES_UP, {}, '30m', { key: 'order-1' });
    const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
    await page.getByRole('link', { name: 'order-41' }).waitFor();
    await openOn(page);
    await field(page).fill('order-');
    await page.getByText(`Looked in ${ORDERS}: jobs due next 3 of 3`).waitFor();
    expect(await page.getByRole('option', { name: 'order-1' }).count()).toBe(0);
  });

  it('opens an exact key at once, also of a tube that it did not look at', async () => {
    const app = await withOrders();
    const { page } = await browser.open(app.at(`tubes/${GIVES_UP}`));
    await openOn(page);
    await field(page).fill('order-42');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'order-42' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: GIVES_UP }).waitFor();
  });

  it('replaces the text of the search that is shown', async () => {
    const app = await withOrders();
    const { page } = await browser.open(app.at('search?q=nothing-such'));
    await openOn(page, 'Control+k', 'invoice-7');
    expect(await field(page).inputValue()).toBe('invoice-7');
  });

  it('speaks Chinese', async () => {
    const app = await withOrders();
    const { page } = await browser.open(app.at('timeline'), { locale: 'zh-CN' });
    await page.getByRole('button', { name: '搜索任务、队列和页面' }).click();
    await field(page).fill('order-42');
    await page.getByText(/已查看 .+：最先到期的任务 3 \/ 3/).waitFor();
    await page.getByRole('option', { name: /在所有队列中精确查找/ }).waitFor();
  });
});
