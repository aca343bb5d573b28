import { it } from '@jest/globals';
import { eventually } from 'test-servers';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

it('pauses a tube, and lets it go on', async () => {
  const app = await start();
  const { page } = await browser.open(app.at(`tubes/${ORDERS}`));
  await page.getByRole('button', { name: /^Pause/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  const isPaused = async () => (await app.inspector.tube(ORDERS)).paused !== undefined;
  await eventually('it is paused', isPaused);
  await app.producer.now(ORDERS, { order: 42 });
  await page.getByRole('button', { name: /^Resume/ }).click();
  await eventually('what waited ran', () => app.ran.length === 1);
});
