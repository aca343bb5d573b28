import { expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const suite = clusterSuite();
const browser = browserSuite();
const start = dashboardApps();

it('pauses a tube, and resumes it', async () => {
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

it('shows the history of a tube for the range that is chosen', async () => {
  const app = await start();
  const { page } = await browser.open(app.at(`tubes/${ORDERS}`));
  await page.getByRole('main').getByRole('button', { name: 'Hour', exact: true }).click();
  await eventually('the address has the range', () => page.url().endsWith(`tubes/${ORDERS}?span=hour`));
});

it('pauses a tube for an hour, and shows until when', async () => {
  const app = await start();
  const { page } = await browser.open(app.at(`tubes/${ORDERS}`));
  await page.getByRole('button', { name: /^Pause/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Until').selectOption('1 hour from now');
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await page.getByText(/^paused until/).waitFor();
  const { since, until } = (await app.inspector.tube(ORDERS)).paused!;
  expect(Math.round((until!.getTime() - since.getTime()) / 60_000)).toBe(60);
  const clock = { timeZone: 'UTC', hourCycle: 'h23', timeStyle: 'medium' } as const;
  const date = { timeZone: 'UTC', month: 'short', day: 'numeric' } as const;
  // With its date if that is tomorrow.
  const day =
    until!.getUTCDate() === since.getUTCDate()
      ? ''
      : `${new Intl.DateTimeFormat('en', date).format(until)}, `;
  const shown = `${day}${new Intl.DateTimeFormat('en', clock).format(until)}`;
  await page.getByText(`paused until ${shown}`).waitFor();
  await page.getByRole('link', { name: 'Tubes' }).click();
  await page.getByText(`paused until ${shown}`).waitFor();
});

it('pauses a tube until a time', async () => {
  const app = await start();
  const { page } = await browser.open(app.at(`tubes/${ORDERS}`));
  await page.getByRole('button', { name: /^Pause/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Until').selectOption('a given time');
  const pause = dialog.getByRole('button', { name: 'Pause' });
  expect(await pause.isDisabled()).toBe(true);
  await dialog.getByRole('textbox', { name: 'Time' }).fill('2031-05-05T12:00:00');
  await pause.click();
  await page.getByText('paused until May 5, 2031, 12:00:00').waitFor();
  expect((await app.inspector.tube(ORDERS)).paused!.until).toEqual(new Date('2031-05-05T12:00:00Z'));
});

it('changes the limits of a tube for an hour, shows until when, and resets them', async () => {
  const app = await start();
  const { page } = await browser.open(app.at(`tubes/${ORDERS}`));
  await page.getByRole('button', { name: /^Change limits/ }).click();
  const dialog = page.getByRole('dialog');
  const change = dialog.getByRole('button', { name: 'Change limits' });
  expect(await change.isDisabled()).toBe(true);
  await dialog.getByLabel('Runs per second, all processes').fill('7');
  await dialog.getByLabel('Concurrent runs, each process').fill('2');
  await change.click();
  await page.getByText('7 per 1s').waitFor();
  const { limits, changedLimits } = await app.inspector.tube(ORDERS);
  expect(limits).toMatchObject({ rate: 7 });
  expect(Math.round((changedLimits!.until!.getTime() - Date.now()) / 600_000)).toBe(6);
  await page.getByText('Limits changed until').waitFor();
  await page.getByRole('button', { name: /^Reset limits/ }).click();
  await page.getByText('7 per 1s').waitFor({ state: 'detached' });
  expect((await app.inspector.tube(ORDERS)).limits).toBeUndefined();
});

it('shows the rate of each tube, and how late its runs began within two days', async () => {
  const app = await start();
  for (let i = 0; i < 3; i++) await app.producer.now(ORDERS, i);
  await app.producer.delay('mail.later', {}, '1h');
  const historyLength = async () =>
    (await app.inspector.history({ tube: ORDERS, from: new Date(Date.now() - 600_000), to: new Date() }))
      .length;
  await eventually('the history has the runs', async () => (await historyLength()) > 0);
  const { page } = await browser.open(app.at('tubes'));
  const table = page.getByRole('table', { name: 'Tubes' }); // there is one of problems, too
  const row = (tube: string) => table.getByRole('row', { name: new RegExp(tube) });
  const cell = (tube: string, at: number) => row(tube).getByRole('cell').nth(at).locator('.value');
  await row(ORDERS).getByRole('img', { name: 'Run lateness' }).waitFor();
  const heads = await table.getByRole('columnheader').allTextContents();
  const textOf = (tube: string, head: string) => cell(tube, heads.indexOf(head)).textContent();
  const [rate, half, most] = [
    'Runs/min (15\u00a0min)',
    'p50 late (2\u00a0days)',
    'p99 late (2\u00a0days)',
  ] as const;
  expect(await textOf(ORDERS, rate)).toMatch(/^(< 1|[123])$/);
  expect(await textOf(ORDERS, half)).toMatch(/^≤ /);
  expect(await textOf(ORDERS, most)).toMatch(/^≤ /);
  expect(await textOf('mail.later', most)).toBe('–');
  const late = await textOf(ORDERS, most);
  await row(ORDERS).getByRole('link', { name: ORDERS }).click();
  const figures = page.getByRole('region', { name: 'Job counts' }).locator('dl > div');
  await figures.filter({ hasText: most }).getByText(late!, { exact: true }).waitFor();
}, 60_000);

it('shows a tube from the live state, and does not ask for what it has', async () => {
  const app = await start({ jobs: optionsOf(suite.servers) });
  await app.producer.delay(ORDERS, {}, '1h');
  const isListed = async () => (await app.inspector.tube(ORDERS)).listed === 1;
  await eventually('the job is listed', isListed);
  const { page } = await browser.open(app.at('tubes'));
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.getByRole('main').getByRole('link', { name: ORDERS }).first().click();
  const numbers = page.getByRole('region', { name: 'Job counts' });
  await numbers.waitFor();
  await app.producer.delay(ORDERS, {}, '1h');
  await numbers.getByText('2', { exact: true }).first().waitFor();
  await app.control.pause(ORDERS);
  await page.getByRole('button', { name: /^Resume/ }).waitFor();
  expect(asked.filter((path) => path.endsWith(`api/tubes/${ORDERS}`))).toEqual([]);
  expect(asked.filter((path) => path.endsWith('api/history'))).not.toEqual([]);
}, 60_000);

it('says what is wrong with a tube on its page', async () => {
  const app = await start();
  await app.control.pause(ORDERS, { by: 'ann@example.com' });
  await app.producer.now(ORDERS, {});
  const { page } = await browser.open(app.at(`tubes/${ORDERS}`));
  const problems = page.getByRole('region', { name: 'Problems' });
  await problems.getByText(/^since [\d:]+ by ann@example\.com$/).waitFor();
  expect(await problems.getByRole('columnheader').allTextContents()).toEqual([
    'Cause',
    'Jobs',
    'Oldest due',
    'Trend',
    'Actions',
  ]);
  await app.producer.now('nobody.runs', {});
  await page.goto(app.at('tubes/nobody.runs'));
  await problems.getByText('No consumer', { exact: true }).waitFor();
  await problems.getByRole('link', { name: 'Processes nobody.runs' }).waitFor();
});

it('says that nobody knows a tube, and which one may have been meant', async () => {
  const app = await start({ jobs: optionsOf(suite.servers) });
  const { page } = await browser.open(app.at('tubes/order.cancle'));
  const main = page.getByRole('main');
  const warning = /it has no jobs\. Check the name\./;
  await main.getByText(warning).waitFor();
  expect(await main.getByRole('button').count()).toBe(0);
  expect(await main.locator('svg').count()).toBe(0);
  await main.getByRole('link', { name: ORDERS }).click();
  await main.getByRole('button', { name: /^Change limits/ }).waitFor();
  await page.goto(app.at('waiting', { tube: 'order.cancle' }));
  await main.getByText(warning).waitFor();
  await main.getByRole('link', { name: ORDERS }).click();
  await main.getByText(warning).waitFor({ state: 'detached' });
  expect(page.url()).toMatch(/#\/waiting\?tube=order\.cancel$/);
  for (const list of ['finished', 'dead']) {
    await page.goto(app.at(list, { tube: 'order.cancle' }));
    await main.getByText(warning).waitFor();
  }
  const { page: zh } = await browser.open(app.at('tubes/order.cancle'), { locale: 'zh-CN' });
  await zh.getByText('是否指：').waitFor();
  await page.goto(app.at('history', { tube: 'order.cancle' }));
  const option = main.getByRole('option', { name: 'order.cancle (not known)' });
  await option.waitFor({ state: 'attached' });
  await app.control.pause('order.cancle');
  await page.goto(app.at('tubes/order.cancle'));
  await main.getByRole('button', { name: /^Resume/ }).click();
  await main.getByRole('button', { name: /^Resume/ }).waitFor({ state: 'detached' });
}, 60_000);

it('asks whether the name of a tube to pause is right that has no jobs any more', async () => {
  const app = await start({ jobs: optionsOf(suite.servers) });
  await app.producer.revoke(await app.producer.delay('order.cancle', {}, '1h'));
  const { page } = await browser.open(app.at('tubes'));
  const [main, dialog] = [page.getByRole('main'), page.getByRole('dialog')];
  const warning = /it has no jobs\. Check the name\./;
  await main.getByRole('button', { name: 'Pause order.cancle' }).click();
  await dialog.getByText(warning).waitFor();
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await page.locator('.notices').getByText(warning).waitFor();
}, 60_000);
