import { hostname, userInfo } from 'node:os';
import { expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { cliSuite, TUBE } from '../cli/cluster-suite.js';
import { dashboardProcesses, type DashboardProcess } from '../cli/dashboard-process.js';
import { browserSuite } from './browser.js';

const suite = cliSuite();
const browser = browserSuite();
const startIn = dashboardProcesses();

/** As in production, where nothing else says who may look. */
function start(...args: string[]): Promise<DashboardProcess> {
  const env = { ...suite.env, NODE_ENV: 'production' };
  return startIn({ env, cwd: suite.folder }, ...args);
}

it('shows the dashboard at the address that `nest-dq dashboard` prints, and lets the viewer act', async () => {
  await suite.prepare();
  const dashboard = await start();
  const { page } = await browser.open(dashboard.address.href);
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  const [here] = page.url().split('#');
  expect(here).toBe(dashboard.address.origin + dashboard.path());
  await page.getByRole('button', { name: 'Day' }).click();
  await page.locator('rect.tube').first().waitFor();
  await page.goto(`${here}#/job?tube=${TUBE}&key=order-42`);
  await page.getByRole('button', { name: /^Run now/ }).click();
  const state = async () => (await suite.system.producer.find({ tube: TUBE, key: 'order-42' }))?.state;
  await eventually('the job ran', async () => (await state()) === 'done');
  await page.goto(`${here}#/acts`);
  const row = page.getByRole('row').filter({ hasText: TUBE });
  await row.getByText(`${userInfo().username}@${hostname()}`).waitFor();
});

it('explains to another browser in a sentence why it sees nothing', async () => {
  const dashboard = await start();
  const { page } = await browser.open(dashboard.address.href);
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  const other = await browser.open('about:blank');
  other.problems.expect(/403/);
  for (const [address, sentence] of [
    [dashboard.address.href, 'This URL works only once, and has been used.'],
    [page.url(), 'The dashboard only serves the browser that opened its URL.'],
  ] as const) {
    await other.page.goto(address);
    await other.page.getByText(sentence).waitFor();
  }
  await page.reload();
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  await page.goto(dashboard.address.href);
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
});
