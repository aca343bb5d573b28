import { expect, it } from '@jest/globals';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS, type DashboardAppOptions } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

/** How a person may type the address of the dashboard. */
const ENDS = ['', '/', '/#/tubes'] as const;

it.each<DashboardAppOptions>([
  { platform: 'express' },
  { platform: 'fastify' },
  { platform: 'express', prefix: 'api/v1' },
  { platform: 'fastify', prefix: 'api/v1' },
  { platform: 'express', versioned: true },
  { platform: 'fastify', versioned: true, prefix: 'api' },
  { platform: 'express', dashboard: { path: '/ops/queue' } },
  { platform: 'fastify', prefix: 'api', dashboard: { path: '/ops/queue' } },
])('an application with %j shows the tubes, live, and runs a job now', async (options) => {
  const app = await start(options);
  await app.producer.delay(ORDERS, {}, '1h', { key: 'order-42' });
  const { page } = await browser.open('about:blank');
  for (const end of ENDS) {
    await page.goto('about:blank'); // the next address may differ only behind #
    await page.goto(app.url + end);
    await page.getByRole('status').filter({ hasText: 'All well' }).waitFor();
    await page.getByRole('link', { name: 'Tubes' }).click();
    await page.getByRole('main').getByRole('link', { name: ORDERS }).first().waitFor();
    expect(new URL(page.url()).pathname).toBe(`${new URL(app.url).pathname}/`);
  }
  await page.goto(app.at(`job?tube=${ORDERS}&key=order-42`));
  await page.getByRole('button', { name: /^Run now/ }).click();
  await page.getByRole('main').getByText('done', { exact: true }).first().waitFor();
  expect(app.ran).toHaveLength(1);
});
