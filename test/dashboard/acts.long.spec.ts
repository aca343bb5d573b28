import { expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const suite = clusterSuite();
const browser = browserSuite();
const start = dashboardApps();

it('shows what operators did in all processes as soon as they do it, and what they did before it started', async () => {
  const other = suite.start();
  await other.control.pause(ORDERS, { by: 'ann@example.com' });
  const stored = async () => (await other.inspector.acts({ limit: 1_000 })).acts.length;
  await eventually('it is stored', async () => (await stored()) === 1);
  const app = await start({ jobs: optionsOf(suite.servers) });
  const { page } = await browser.open(app.at('acts'));
  const row = (name: RegExp) => page.getByRole('row', { name });
  await row(/ann@example\.com Pause order\.cancel 1/).waitFor();
  await other.control.resume(ORDERS, { by: 'bob@example.com' });
  await row(/bob@example\.com Resume order\.cancel 1/).waitFor();
  expect(await page.getByRole('row').nth(1).textContent()).toContain('bob@example.com');
  await other.producer.delay(ORDERS, {}, '1h', { key: 'order-7' });
  await other.control.runNow({ tube: ORDERS, key: 'order-7' }, { by: 'bob@example.com' });
  await row(/bob@example\.com Run now order\.cancel order-7 1/).waitFor();
  const later = other.control.rescheduleMany(
    ORDERS,
    { limit: 3 },
    { later: '1h' },
    { by: 'bob@example.com' },
  );
  for await (const { failed } of later) expect(failed).toBe(0);
  await row(/bob@example\.com Reschedule all matching order\.cancel at most 3 → 1h later 0/).waitFor();
  for (const filter of [{}, { dueFrom: new Date('2030-01-01T10:00:00Z'), state: 'retrying' as const }])
    for await (const { failed } of other.control.revokeMany(ORDERS, filter)) expect(failed).toBe(0);
  await row(/Revoke all matching order\.cancel all 0/).waitFor();
  await row(/order\.cancel due from .*2030.*, retrying 0/).waitFor();
  const [node] = suite.servers.beanstalkds;
  for (let i = 0; i < 60; i++) await other.control.undrainNode(node!.endpoint, { by: `ann ${i}` });
  await eventually('all are stored', async () => (await stored()) === 66);
  await row(/ann 59 /).waitFor();
  await page.getByRole('button', { name: 'Load more' }).click();
  await row(/ann@example\.com Pause/).waitFor();
  expect(await page.getByRole('row').count()).toBe(67);
}, 60_000);
