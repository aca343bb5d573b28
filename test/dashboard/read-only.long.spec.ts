import { expect, it } from '@jest/globals';
import { browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

const ACTS = /^(run now|reschedule|revoke|revive|discard|pause|resume|drain|undrain|repair|trigger)( |$)/i;

it('offers no act and no payload to a viewer who may only read', async () => {
  const app = await start({ dashboard: { access: () => 'read' } });
  const { id } = await app.producer.delay(ORDERS, {}, '1h', { key: 'order-42' });
  await app.addDead('no such mailbox');
  const { page } = await browser.open(app.at('timeline'));
  await page.getByText('Read-only').waitFor();
  for (const [hash, shown] of [
    [`job?tube=${ORDERS}&key=order-42`, id],
    [`waiting?tube=${ORDERS}`, 'order-42'],
    [`dead?tube=${GIVES_UP}`, 'no such mailbox'],
    [`tubes/${ORDERS}`, ORDERS],
    ['cluster', 'Connections'],
  ] as const) {
    await page.goto(app.at(hash));
    await page.getByRole('main').getByText(shown).first().waitFor();
    expect(await page.getByRole('main').getByRole('button', { name: ACTS }).allTextContents()).toEqual([]);
    expect(await page.getByRole('button', { name: /payload/i }).count()).toBe(0);
  }
});

it('offers only the acts that a viewer has', async () => {
  const app = await start({ dashboard: { access: () => ({ acts: ['runNow'] }) } });
  await app.producer.delay(ORDERS, {}, '1h', { key: 'order-42' });
  const { page } = await browser.open(app.at(`job?tube=${ORDERS}&key=order-42`));
  await page.getByRole('button', { name: /^Run now/ }).waitFor();
  expect(await page.getByRole('main').getByRole('button', { name: ACTS }).count()).toBe(1);
});
