import { describe, expect, it } from '@jest/globals';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS, type DashboardAppOptions } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

describe.each<DashboardAppOptions>([
  { platform: 'express' },
  { platform: 'fastify' },
  { platform: 'express', prefix: 'api/v1' },
  { platform: 'fastify', prefix: 'api/v1' },
  { platform: 'express', dashboard: { path: '/ops/queue' } },
  { platform: 'fastify', prefix: 'api', dashboard: { path: '/ops/queue' } },
])('an application with %j', (options) => {
  it.each(['', '/', '/#/tubes'])('shows the tubes, live, at its address with "%s" behind', async (end) => {
    const app = await start(options);
    const { page } = await browser.open(app.url + end);
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
    await page.getByRole('link', { name: 'Tubes' }).click();
    await page.getByRole('link', { name: ORDERS }).first().waitFor();
    expect(new URL(page.url()).pathname).toBe(`${new URL(app.url).pathname}/`);
  });
});
