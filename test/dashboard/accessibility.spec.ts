import { describe, expect, it } from '@jest/globals';
import { accessibilityFindings, browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS, type DashboardApp } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

/** Each page, and something that it shows when all of it is there. */
const PAGES = [
  ['timeline', 'Overdue'],
  ['tubes', ORDERS],
  [`tubes/${ORDERS}`, ORDERS],
  [`waiting?tube=${ORDERS}`, 'waiting'],
  [`dead?tube=${GIVES_UP}`, 'no such mailbox'],
  [`job?tube=${ORDERS}&key=order-42`, 'order-42'],
  ['search?q=order-42', 'order-42'],
  ['history', 'History'],
  ['cluster', 'Connections'],
  ['operated', 'pause'],
] as const;

async function busy(): Promise<DashboardApp> {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '30m', { key: 'order-42' });
  await app.addDead('no such mailbox');
  await app.control.pause(GIVES_UP);
  await app.producer.now(GIVES_UP, { because: 'late' });
  return app;
}

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  it('no page has findings of axe', async () => {
    const app = await busy();
    const { page } = await browser.open(app.at('timeline'), { colorScheme });
    const findings: unknown[] = [];
    for (const [hash, shown] of PAGES) {
      await page.goto(app.at(hash));
      await page.getByRole('main').getByText(shown).first().waitFor();
      for (const finding of await accessibilityFindings(page)) findings.push({ hash, ...finding });
    }
    expect(findings).toEqual([]);
  }, 60_000);

  it('a dialog has none', async () => {
    const app = await busy();
    const { page } = await browser.open(app.at(`job?tube=${ORDERS}&key=order-42`), { colorScheme });
    await page.getByRole('button', { name: /^Move/ }).click();
    await page.getByRole('dialog').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
  });
});
