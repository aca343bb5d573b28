import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from 'test-servers';
import { browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

const scrolled = (page: Page) => page.evaluate(() => (globalThis as any).scrollY as number);

it('marks the rows of jobs that ran, and says how many are new, without moving a row', async () => {
  const app = await start();
  await app.control.pause(ORDERS);
  await app.producer.delay(ORDERS, {}, '1h', { key: 'order-1' });
  await app.producer.delay(ORDERS, {}, '2h', { key: 'order-2' });
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  const main = page.getByRole('main');
  await main.getByRole('link', { name: 'order-2' }).waitFor();
  await app.producer.revoke({ tube: ORDERS, key: 'order-1' });
  await app.producer.delay(ORDERS, {}, '90m', { key: 'order-3' });
  const row = main.getByRole('row', { name: /order-1/ });
  await row.getByText('ran or changed').waitFor();
  await page.getByRole('status').getByText('1 new, 1 gone').waitFor();
  expect(await row.getByRole('button').count()).toBe(0);
  expect(await main.getByRole('row').count()).toBe(3);
  await main.getByRole('button', { name: 'Refresh' }).click();
  await row.waitFor({ state: 'detached' });
  await main.getByRole('link', { name: 'order-3' }).waitFor();
  await page.getByText('1 new, 1 gone').waitFor({ state: 'detached' });
}, 60_000);

it('acts on chosen jobs', async () => {
  const app = await start();
  for (const key of ['order-1', 'order-2', 'order-3', 'order-4'])
    await app.producer.delay(ORDERS, {}, '1h', { key });
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  const main = page.getByRole('main');
  const choose = async (...keys: readonly string[]) => {
    for (const key of keys) await main.getByRole('checkbox', { name: `Select ${key}` }).check();
    await main.getByText(`${keys.length} selected`).waitFor();
  };
  const stateOf = async (key: string) => (await app.producer.find({ tube: ORDERS, key }))!;
  await choose('order-1', 'order-2');
  await main.getByRole('button', { name: 'Revoke', exact: true }).first().click();
  const dialog = page.getByRole('dialog', { name: `Revoke 2 selected jobs of ${ORDERS}?` });
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('2 of 2 changed').waitFor();
  expect([(await stateOf('order-1')).state, (await stateOf('order-2')).state]).toEqual([
    'revoked',
    'revoked',
  ]);
  await main.getByText('2 selected').waitFor({ state: 'detached' });
  await choose('order-3', 'order-4');
  await main.getByRole('button', { name: 'Reschedule', exact: true }).first().click();
  const move = page.getByRole('dialog', { name: `Reschedule 2 selected jobs of ${ORDERS}` });
  await move.getByRole('textbox', { name: 'Duration' }).fill('2d12h');
  await move.getByRole('button', { name: 'Reschedule' }).click();
  const isMoved = async (key: string) => (await stateOf(key)).dueAt.getTime() - Date.now() > 2 * 86_400_000;
  // The notice of the first act may still be there.
  await eventually('both are moved', async () => (await isMoved('order-3')) && (await isMoved('order-4')));
  await page.getByText('2 of 2 changed').waitFor();
  const range = main.getByRole('combobox', { name: 'Time', exact: true });
  await range.selectOption('Next 24 hours');
  await main.getByText('No waiting jobs match.').waitFor();
  await range.selectOption('Any time');
  await main.getByRole('link', { name: 'order-4' }).waitFor();
}, 60_000);

it('lists the jobs of all tubes, finds them by the start of their key, and acts on those of all tubes', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '1h', { key: 'order-1' });
  await app.producer.delay('bills', {}, '2h', { key: 'order-2' });
  await app.producer.delay('bills', {}, '3h', { key: 'bill-3' });
  const { page } = await browser.open(app.at('waiting'));
  const main = page.getByRole('main');
  const rows = main.getByRole('row');
  await rows.filter({ hasText: 'bills' }).filter({ hasText: 'bill-3' }).waitFor();
  await main.getByRole('button', { name: 'Revoke all matching' }).waitFor();
  const field = main.getByRole('searchbox', { name: 'Key or ID begins with' });
  await field.fill('order-'); // finds as one types
  await main.getByRole('link', { name: 'bill-3' }).waitFor({ state: 'detached' });
  await main.getByRole('link', { name: 'order-2' }).waitFor();
  expect(page.url()).toContain('key=order-');
  expect(await main.getByRole('button', { name: 'Revoke all matching' }).count()).toBe(0);
  await main.getByText(/^Select rows to act on them/).waitFor();
  await main.getByRole('checkbox', { name: 'Select all shown' }).check();
  await main.getByRole('button', { name: 'Revoke', exact: true }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Revoke 2 selected jobs of 2 tubes?' });
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('2 of 2 changed').waitFor();
  await field.fill('none');
  await field.press('Enter');
  await main.getByText('No waiting jobs match.').waitFor();
}, 60_000);

it('shows the new time of a job that was moved, in its row', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '1h', { key: 'order-1' });
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  const row = page.getByRole('main').getByRole('row', { name: /order-1/ });
  await row.waitFor();
  await app.producer.reschedule({ tube: ORDERS, key: 'order-1' }, new Date('2031-05-05T12:00:00Z'));
  await row.getByText('May 5, 2031, 12:00:00').waitFor();
  await row.getByRole('link', { name: 'order-1' }).waitFor(); // it has its key still
}, 60_000);

it('marks the letters that others revived, and says how many died again', async () => {
  const app = await start();
  await app.addDead('full', 'mail-1');
  await app.addDead('full', 'mail-2');
  const { page } = await browser.open(app.at('dead', { tube: GIVES_UP }));
  const row = (key: string) => page.getByRole('main').getByRole('row', { name: new RegExp(key) });
  await row('mail-2').waitFor();
  await app.letters.revive({ tube: GIVES_UP, key: 'mail-1' });
  await row('mail-1').getByText('revived or discarded').waitFor();
  await page.getByRole('status').getByText('1 new, 1 gone').waitFor(); // it died again
  expect(await row('mail-2').getByText('revived or discarded').count()).toBe(0);
}, 60_000);

it('comes back from a job to the same rows, the same place and the same selection', async () => {
  const app = await start();
  for (let i = 0; i < 70; i++) await app.producer.now(GIVES_UP, { because: `full ${i}` });
  await eventually('all are dead', async () => (await app.inspector.tube(GIVES_UP)).dead === 70);
  const { page } = await browser.open(app.at('dead', { tube: GIVES_UP }));
  const main = page.getByRole('main');
  await main.getByRole('button', { name: 'Load more' }).click();
  const row = main.getByRole('row', { name: /full 3\b/ });
  await row.getByRole('checkbox').check();
  const rowOfFocus = () =>
    page.evaluate(() => (globalThis as any).document.activeElement.closest('tr')?.textContent as string);
  // On the screen: a status bar may come above it meanwhile.
  const placeOf = async (each: typeof row) => (await each.boundingBox())!.y;
  // Also where a slow machine puts time between each two steps.
  const chromium = await page.context().newCDPSession(page);
  for (const rate of [1, 4]) {
    await chromium.send('Emulation.setCPUThrottlingRate', { rate });
    await row.scrollIntoViewIfNeeded();
    expect(await scrolled(page)).toBeGreaterThan(500);
    const before = await placeOf(row);
    await row.getByRole('link').click();
    await page.getByRole('heading', { name: 'Copies' }).waitFor();
    expect(await scrolled(page)).toBe(0);
    await page.goBack();
    await row.waitFor();
    expect(await main.getByRole('row').count()).toBe(71);
    expect(await row.getByRole('checkbox').isChecked()).toBe(true);
    await main.getByText('1 selected').waitFor();
    // With the rows, in one step: nothing that comes later changes it.
    expect(await rowOfFocus()).toContain('full 3Revive');
    expect(Math.abs((await placeOf(row)) - before)).toBeLessThan(2);
  }
  await page.keyboard.press('j'); // continues from there
  expect(await rowOfFocus()).toContain('full 2Revive');
}, 120_000);

it('comes back to the link that was followed on a page without a list of its own', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '1h', { key: 'order-1' });
  const { page } = await browser.open(app.at('tubes'));
  const link = page.getByRole('main').getByRole('link', { name: ORDERS, exact: true });
  await link.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: ORDERS }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Tubes' }).waitFor();
  await eventually('it has the focus', () =>
    page.evaluate(() => (globalThis as any).document.activeElement.tagName === 'A'),
  );
  expect(await page.evaluate(() => (globalThis as any).document.activeElement.textContent as string)).toBe(
    ORDERS,
  );
}, 60_000);

it('starts at the top with nothing selected where a link leads to the list', async () => {
  const app = await start();
  await app.addDead('full');
  const { page } = await browser.open(app.at('dead', { tube: GIVES_UP }));
  const main = page.getByRole('main');
  await main.getByRole('checkbox', { name: 'Select all' }).check();
  await main.getByText('1 selected').waitFor();
  await page.getByRole('link', { name: 'Tubes' }).click();
  await page.getByRole('heading', { name: 'Tubes' }).waitFor();
  await main
    .getByRole('row', { name: new RegExp(GIVES_UP) })
    .getByRole('link', { name: '1', exact: true })
    .click();
  await main.getByRole('row', { name: /full/ }).waitFor();
  expect(await main.getByRole('checkbox', { name: 'Select all' }).isChecked()).toBe(false);
}, 60_000);

it('keeps the focus where a payload was asked for', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, { order: 42 }, '1h', { key: 'order-42' });
  const { page } = await browser.open(app.at('job', { tube: ORDERS, key: 'order-42' }));
  await page.getByRole('button', { name: 'Show payload' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('"order": 42').waitFor();
  const focused = await page.evaluate(() => (globalThis as any).document.activeElement.textContent as string);
  expect(focused).toContain('"order": 42');
  expect(focused).not.toContain('Timeline'); // of the whole body
});
