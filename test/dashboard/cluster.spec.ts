import { it } from '@jest/globals';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const suite = clusterSuite();
const browser = browserSuite();
const start = dashboardApps();

/** What the browser tells of the answers of a server whose ledger is away. */
const REFUSED = /status of 503|answered 503/;

it('says that the ledger is away, and shows it again when it is back', async () => {
  const app = await start({ jobs: optionsOf(suite.servers) });
  await app.producer.delay(ORDERS, {}, '30m', { key: 'order-42' });
  const { page, problems } = await browser.open(app.at('timeline'));
  problems.expect(REFUSED);
  await page.locator('rect.series-0').waitFor();
  await suite.servers.redis.kill();
  await page.getByText('DQ_LEDGER_DOWN').first().waitFor();
  await suite.servers.redis.restart();
  await page.getByText('DQ_LEDGER_DOWN').waitFor({ state: 'detached' });
  await page.locator('rect.series-0').waitFor();
}, 60_000);
