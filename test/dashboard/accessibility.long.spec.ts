import { describe, expect, it } from '@jest/globals';
import { accessibilityFindings, browserSuite, openSettings } from './browser.js';
import { PAGES, startBusyApp } from './busy-app.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  it('no page has findings of axe', async () => {
    const app = await startBusyApp(start);
    const { page } = await browser.open(app.at('timeline'), { colorScheme });
    const findings: unknown[] = [];
    for (const { hash, en } of PAGES) {
      await page.goto(app.at(hash));
      await page.getByRole('main').getByText(en).first().waitFor();
      for (const finding of await accessibilityFindings(page)) findings.push({ hash, ...finding });
    }
    expect(findings).toEqual([]);
  }, 60_000);

  it('the palette, the shortcuts and the settings have none', async () => {
    const app = await startBusyApp(start);
    const { page } = await browser.open(app.at('timeline'), { colorScheme });
    await page.getByRole('main').getByText('Problems').first().waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('order');
    await page
      .getByRole('option', { name: /^order-42/ })
      .first()
      .waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await openSettings(page);
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it.each([
    ['Reschedule', `job?tube=${ORDERS}&key=order-42`],
    ['Repair copies', 'cluster'],
  ])('the dialog %s has none', async (name, address) => {
    const app = await startBusyApp(start);
    const { page } = await browser.open(app.at(address), { colorScheme });
    await page.getByRole('button', { name }).first().click();
    await page.getByRole('dialog').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
  });
});
