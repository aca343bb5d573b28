import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import type { Page } from 'playwright-core';
import { accessibilityFindings, browserSuite, openSettings } from './browser.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

const DAY = 86_400_000;

/** Lightness of the page's ground, from 0 to 255. */
async function ground(page: Page): Promise<number> {
  const colour = await page.evaluate(() => {
    const { document, getComputedStyle } = globalThis as any;
    return getComputedStyle(document.body).backgroundColor as string;
  });
  return Number(/\d+/.exec(colour)![0]);
}

describe('the theme', () => {
  it('is that of the system, until the viewer chooses; the choice stays', async () => {
    const app = await start();
    const { page } = await browser.open(app.at('tubes'), { colorScheme: 'dark' });
    const theme = page.getByLabel('Theme');
    await openSettings(page);
    expect(await ground(page)).toBeLessThan(50);
    await theme.selectOption('Light');
    expect(await ground(page)).toBeGreaterThan(200);
    await page.reload();
    await openSettings(page);
    expect(await theme.inputValue()).toBe('light');
    expect(await ground(page)).toBeGreaterThan(200);
    await theme.selectOption('Dark');
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await ground(page)).toBeLessThan(50);
    await theme.selectOption('System');
    expect(await ground(page)).toBeGreaterThan(200);
  });
});

describe('the zone', () => {
  it('is named on each page, and UTC can be chosen; fields for times follow', async () => {
    const app = await start();
    const due = new Date(Math.ceil(Date.now() / DAY) * DAY + 2 * DAY - 60_000); // 23:59 in two days, UTC
    await app.producer.at(ORDERS, {}, due);
    const { page } = await browser.open(app.at('waiting', { tube: ORDERS }), { timezoneId: 'Asia/Kolkata' });
    const textIn = (timeZone: string) =>
      new Intl.DateTimeFormat('en', { timeZone, dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' })
        .format(due)
        .replace(/, \d{4}/, '');
    const cell = page.getByRole('cell').locator('time');
    await cell.getByText(textIn('Asia/Kolkata')).waitFor();
    await openSettings(page);
    const zone = page.getByLabel('Times in');
    expect(await zone.locator('option').allTextContents()).toEqual([
      expect.stringMatching(/^Asia\/(Kolkata|Calcutta) \(GMT\+5:30\)$/),
      'UTC',
    ]);
    await page.keyboard.press('Escape');
    const navigation = page.getByRole('navigation');
    for (const name of ['Timeline', 'Tubes', 'History', 'Cluster', 'Waiting']) {
      await navigation.getByRole('link', { name }).click();
      await navigation.getByText(/^Times in: Asia/).waitFor();
    }
    await openSettings(page);
    await zone.selectOption('UTC');
    await page.keyboard.press('Escape');
    await navigation.getByText('Times in: UTC').waitFor();
    await cell.getByText(textIn('UTC')).waitFor();
    await page.getByRole('combobox', { name: 'Time', exact: true }).selectOption('Custom…');
    await page.getByLabel('From').fill('2031-05-05T12:00:00');
    await page.getByLabel('From').press('Enter');
    await page.waitForURL(/2031-05-05T12%3A00%3A00/);
    await page.reload();
    await navigation.getByText('Times in: UTC').waitFor();
    expect(await page.getByLabel('From').inputValue()).toBe('2031-05-05T12:00');
  });

  it('is named where there is no choice', async () => {
    const app = await start();
    const { page } = await browser.open(app.at('tubes'));
    await page.getByRole('navigation').getByText('Times in: UTC').waitFor();
  });
});

describe('the environment', () => {
  it('is on every page and in its title, and production is at its edge', async () => {
    const app = await start({ dashboard: { environment: 'production' } });
    const { page } = await browser.open(app.at('timeline'));
    for (const name of ['Timeline', 'Tubes', 'Dead letters', 'Cluster']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('navigation').getByText('production', { exact: true }).waitFor();
      await eventually(`the title has ${name}`, async () =>
        (await page.title()).startsWith(`production: ${name} ·`),
      );
    }
    const edge = await page.evaluate(() => {
      const { document, getComputedStyle } = globalThis as any;
      return getComputedStyle(document.documentElement).borderTopWidth as string;
    });
    expect(edge).toBe('3px');
    const label = page.getByRole('navigation').getByText('production', { exact: true });
    for (const theme of ['Light', 'Dark']) {
      await openSettings(page);
      await page.getByLabel('Theme').selectOption(theme);
      expect(await accessibilityFindings(page)).toEqual([]);
      await page.keyboard.press('Escape');
      expect(await accessibilityFindings(page)).toEqual([]);
      const [red, green, blue] = await label.evaluate((element: any) =>
        (globalThis as any).getComputedStyle(element).backgroundColor.match(/\d+/g).map(Number),
      );
      expect(red).toBeGreaterThan(2 * Math.max(green, blue));
    }
  });

  it('has a job run at once only after a question, where it is dangerous', async () => {
    const app = await start({ dashboard: { environment: 'production' } });
    await app.producer.delay(ORDERS, {}, '1h', { key: 'order-1' });
    const { page } = await browser.open(app.at('job', { tube: ORDERS, key: 'order-1' }));
    await page.getByRole('button', { name: 'Run now' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run order-1 now?' });
    const state = async () => (await app.producer.find({ tube: ORDERS, key: 'order-1' }))!.state;
    expect(await state()).toBe('waiting');
    await dialog.getByRole('button', { name: 'Run now' }).click();
    await page.getByText('Job due now.').waitFor();
  });

  it('is calm elsewhere, and absent without the option', async () => {
    const staging = await start({ dashboard: { environment: { name: 'staging', tone: 'calm' } } });
    const { page } = await browser.open(staging.at('tubes'));
    await page.getByRole('navigation').getByText('staging').waitFor();
    const other = await start();
    await page.goto(other.at('tubes'));
    await page.getByRole('heading', { name: 'Tubes' }).waitFor();
    expect(await page.title()).toBe('Tubes · nest-dq');
  });
});
