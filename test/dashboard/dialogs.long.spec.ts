import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from 'test-servers';
import { browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS, type DashboardApp } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();
const DUE = new Date('2031-05-05T12:00:00Z');

/** Many jobs of a paused tube, due in 2031; the first one has a key. */
async function withJobs(jobs: number): Promise<DashboardApp> {
  const app = await start();
  await app.control.pause(ORDERS);
  await app.producer.at(ORDERS, {}, DUE, { key: 'order-1' });
  const others = Array.from({ length: jobs - 1 }, (_, i) => ({
    payload: i,
    at: new Date(+DUE + (i + 1) * 1_000),
  }));
  await app.producer.addMany(ORDERS, others);
  return app;
}

/** Holds each answer to an act until it is opened. */
async function holdActs(page: Page): Promise<() => void> {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  await page.route(/\/api\/acts\//, async (to) => {
    await opened;
    await to.continue();
  });
  return open;
}

/** Holds a revoke of many after its first page, until the returned function is called. */
function holdAfterFirstPage({ control }: DashboardApp): () => void {
  let readOn!: () => void;
  const held = new Promise<void>((resolve) => (readOn = resolve));
  const revokeMany = control.revokeMany.bind(control);
  control.revokeMany = async function* (...args) {
    for await (const progress of revokeMany(...args)) {
      yield progress;
      if (progress.done > 0 && !args[2]?.dryRun) await held;
    }
  };
  return readOn;
}

it('says what it revokes, how many, where, and when they are due', async () => {
  const app = await withJobs(3);
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  await page.getByRole('button', { name: 'Revoke all matching' }).click();
  const dialog = page.getByRole('dialog');
  const revoke = dialog.getByRole('button', { name: 'Revoke 3 jobs' });
  expect(await revoke.getAttribute('class')).toBe('button bad'); // it can't be taken back
  expect(await dialog.getByRole('heading').textContent()).toBe(
    `Revoke 3 waiting jobs of ${ORDERS}, due May 5, 2031, 12:00:00 to May 5, 2031, 12:00:02`,
  );
  await dialog.getByText('They will not run').waitFor();
  const examples = dialog.getByRole('region', { name: 'Examples:' });
  expect(await examples.getByRole('listitem').first().innerText()).toBe('order-1\nMay 5, 2031, 12:00:00');
});

it('shows the old and the new time of what it moves', async () => {
  const app = await withJobs(2);
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  await page.getByRole('button', { name: 'Reschedule all matching' }).click();
  const dialog = page.getByRole('dialog', { name: `Reschedule waiting jobs of ${ORDERS}` });
  await dialog.getByRole('textbox').fill('3h');
  await dialog.getByRole('button', { name: 'Reschedule' }).click();
  const examples = page.getByRole('dialog').getByRole('region', { name: 'Examples:' });
  const first = examples.getByRole('listitem').first();
  await first.getByText('order-1').waitFor();
  expect(await first.getByRole('time').allTextContents()).toEqual([
    'May 5, 2031, 12:00:00',
    'May 5, 2031, 15:00:00',
  ]);
});

it('refuses what is no duration, and a time in the past, before it is sent', async () => {
  const app = await withJobs(1);
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  await page.getByRole('button', { name: 'Reschedule order-1' }).click();
  const dialog = page.getByRole('dialog', { name: `Reschedule order-1 of ${ORDERS}` });
  const go = dialog.getByRole('button', { name: 'Reschedule' });
  await dialog.getByRole('textbox').fill('tomorrow 9am');
  await dialog.getByText('Enter a duration such as 90s, 15m, 1h30m or 3d.').waitFor();
  expect(await go.isDisabled()).toBe(true);
  await dialog.getByRole('combobox').selectOption('at');
  await dialog.getByLabel('Time', { exact: true }).fill('2019-12-24T18:00');
  await dialog.getByText('This time is in the past. Choose a later one.').waitFor();
  expect(await go.isDisabled()).toBe(true);
  await dialog.getByLabel('Time', { exact: true }).fill('2032-12-24T18:00');
  expect(await go.isEnabled()).toBe(true);
});

it('wants the name of the tube above a thousand jobs', async () => {
  const app = await withJobs(1_001);
  const readOn = holdAfterFirstPage(app);
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  await page.getByRole('button', { name: 'Revoke all matching' }).click();
  const dialog = page.getByRole('dialog');
  const go = dialog.getByRole('button', { name: 'Revoke 1,001 jobs' });
  const name = dialog.getByRole('textbox', { name: `Type ${ORDERS} to confirm` });
  await name.waitFor();
  expect(await go.isDisabled()).toBe(true);
  await name.fill('mail.send');
  expect(await go.isDisabled()).toBe(true);
  await name.fill(ORDERS);
  await go.click();
  await dialog.getByRole('progressbar', { name: 'Progress' }).waitFor();
  await dialog
    .getByText(/^\d+ of 1,001 · [\d,]+\/s · .+ left$/)
    .first()
    .waitFor();
  readOn();
  await dialog.getByText('Done. Changed: 1,001.').waitFor();
}, 60_000);

it('names the job in the question before it is revoked, and the letter before it is discarded', async () => {
  const app = await withJobs(1);
  await app.addDead('full', 'invoice-42');
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  await page.getByRole('button', { name: 'Revoke order-1' }).click();
  await page.getByRole('dialog', { name: `Revoke order-1 of ${ORDERS}?` }).waitFor();
  await page.goto(app.at('dead', { tube: GIVES_UP }));
  await page.getByRole('button', { name: 'Discard invoice-42' }).click();
  await page.getByRole('dialog', { name: `Discard invoice-42 of ${GIVES_UP}?` }).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('checkbox', { name: 'Select invoice-42' }).check();
  await page.getByRole('button', { name: 'Discard', exact: true }).click();
  await page.getByRole('dialog', { name: 'Discard 1 dead letter?' }).waitFor();
});

it('shows that an act is pending, and begins none twice meanwhile', async () => {
  const app = await withJobs(1);
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  const open = await holdActs(page);
  const asked: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && asked.push(request.url()));
  const run = page.getByRole('button', { name: 'Run now order-1' });
  await run.click();
  await eventually('it is pending', async () => (await run.getAttribute('aria-busy')) === 'true');
  await run.click({ force: true });
  open();
  await page.getByText('Job due now.').waitFor();
  await eventually('it is over', async () => (await run.getAttribute('aria-busy')) === 'false');
  expect(asked).toHaveLength(1);
});

it('keeps the question open until the act is over', async () => {
  const app = await withJobs(1);
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  const open = await holdActs(page);
  await page.getByRole('button', { name: 'Revoke order-1' }).click();
  const dialog = page.getByRole('dialog');
  const revoke = dialog.getByRole('button', { name: 'Revoke' });
  await revoke.click();
  await eventually('it is pending', async () => (await revoke.getAttribute('aria-busy')) === 'true');
  open();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('Job revoked.').waitFor();
});

it('counts again if counting failed', async () => {
  const app = await withJobs(3);
  const { page, problems } = await browser.open(app.at('waiting', { tube: ORDERS }));
  problems.expect(/status of 503|answered 503/);
  await page.route(/\/api\/acts\//, (to) => to.fulfill({ status: 503, body: 'away' }), { times: 1 });
  await page.getByRole('button', { name: 'Revoke all matching' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Counting failed. Nothing changed.').waitFor();
  await dialog.getByRole('button', { name: 'Count again' }).click();
  await dialog.getByRole('button', { name: 'Revoke 3 jobs' }).waitFor();
});
