import { expect, it } from '@jest/globals';
import { browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

/** If the browser reads it as more than a text, the title changes or the policy is violated: the test fails at both. */
const EVIL = `"'><img src=x onerror="document.title='XSS'"><script>document.title='XSS'</script><b id="xss">b</b>`;

it('shows what looks like HTML as text: in a key, a payload, an error and an address', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, { text: EVIL }, '1h', { key: EVIL });
  await app.addDead(EVIL, EVIL);
  const { page, problems } = await browser.open(app.at('job', { tube: ORDERS, key: EVIL }));
  problems.expect(/status of 400|answered 400/); // no tube has such a name
  await page.getByRole('heading', { name: EVIL }).waitFor();
  await page.getByRole('button', { name: 'Show payload' }).click();
  await page.getByText(JSON.stringify(EVIL).slice(1, -1)).waitFor();
  await page.goto(app.at(`dead?tube=${GIVES_UP}`));
  await page.getByText(EVIL).first().waitFor();
  await page.goto(app.at('search', { q: EVIL }));
  await page.getByRole('heading', { name: EVIL.slice(0, 50) }).waitFor();
  await page.goto(app.at(`tubes/${encodeURIComponent(EVIL)}`));
  await page.getByText(EVIL.slice(0, 20)).first().waitFor();
  expect(await page.locator('#xss').count()).toBe(0);
  expect(await page.title()).not.toBe('XSS');
});

it('shows in base64 what `redact` returns as bytes', async () => {
  const app = await start({ dashboard: { redact: () => Buffer.from('hello') } });
  await app.producer.delay(ORDERS, {}, '1h', { key: 'order-42' });
  const { page } = await browser.open(app.at('job', { tube: ORDERS, key: 'order-42' }));
  await page.getByRole('button', { name: 'Show payload' }).click();
  expect(await page.getByLabel('Payload (base64)').textContent()).toBe('aGVsbG8=');
});

it('names the estimate of a list only where it says that jobs are missing in it', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '1h');
  const { page } = await browser.open('about:blank');
  let counted = { listed: 1_486, about: 1_485 };
  await page.route('**/api/tubes/*/jobs*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), ...counted } });
  });
  await page.goto(app.at('waiting', { tube: ORDERS }));
  await page.getByText('Listed: 1,486', { exact: true }).waitFor();
  counted = { listed: 1_486, about: 1_600 };
  await page.reload();
  await page.getByText('Listed: 1,486 of about 1,600', { exact: true }).waitFor();
});

it('says what to do if the code of a page could not be loaded', async () => {
  const app = await start();
  const { page, problems } = await browser.open('about:blank');
  problems.expect(/net::ERR_FAILED|Failed to fetch dynamically imported module/);
  await page.route('**/pages/on-demand-pages-*', (route) => route.abort());
  await page.goto(app.at('dead'));
  await page.getByRole('alert').getByText('Reload: the server was away').waitFor();
  await page.unroute('**/pages/on-demand-pages-*');
  await page.reload();
  await page.getByRole('heading', { name: 'Dead letters' }).waitFor();
});
