import { Injectable } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { DelayedHandler } from 'nest-dq';
import type { Page } from 'playwright-core';
import { eventually } from 'test-servers';
import { accessibilityFindings, browserSuite } from './browser.js';
import { dashboardApps, ORDERS, type DashboardApp } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

const MINUTE = 60_000;
/** A tube with a rate limit. */
const MAILS = 'mail.limited';
const JOBS = 120;

@Injectable()
class Mails {
  @DelayedHandler(MAILS, { limit: { rate: 10, per: '1m' } })
  send(): void {
    // it has run
  }
}

/** An app with a peak in an hour that takes 12 minutes. */
async function withPeak(): Promise<DashboardApp> {
  const app = await start({ providers: [Mails] });
  const at = new Date(Math.ceil(Date.now() / MINUTE) * MINUTE + 60 * MINUTE);
  await app.producer.addMany(
    MAILS,
    Array.from({ length: JOBS }, () => ({ payload: {}, at })),
  );
  return app;
}

/** The dialog for the jobs of the only bar of the day. */
async function openSpread(page: Page) {
  await page.locator('rect.tube').first().click();
  await page.getByRole('button', { name: `Spread… ${MAILS}` }).click();
  return page.getByRole('dialog');
}

it('shows when jobs will start late, and spreads them', async () => {
  const app = await withPeak();
  const { page } = await browser.open(app.at('timeline', { span: 'day', tube: MAILS }));
  await page.getByText('10 jobs a minute (rate limit)').waitFor();
  await page.getByText(/, up to 1[012]m/).waitFor();
  expect(await page.locator('rect.shade').count()).toBe(1);
  const dialog = await openSpread(page);
  const said = dialog.getByText(/, up to 1[012]m/);
  await said.waitFor();
  expect(await said.textContent()).toBe(
    await page
      .locator('main')
      .getByText(/, up to 1[012]m/)
      .textContent(),
  );
  await dialog.getByRole('textbox', { name: 'Over' }).fill('15m');
  await dialog.getByText('none by a minute or more').waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Count jobs' }).click();
  await dialog.getByText(/^New times: .+ to .+\.$/).waitFor();
  await dialog.locator('.move').filter({ hasText: 'stays' }).first().waitFor();
  const spread = dialog.getByRole('button', { name: `Spread ${JOBS} jobs` });
  expect(await spread.getAttribute('class')).toBe('button main');
  await spread.click();
  await dialog
    .getByRole('status')
    .filter({ hasText: `Done. Changed: ${JOBS}.` })
    .first()
    .waitFor();
  const { jobs } = await app.inspector.jobs(MAILS, { limit: 1_000 });
  const dues = jobs.map(({ dueAt }) => dueAt.getTime());
  expect(dues.map((due) => due - dues[0]!)).toEqual(jobs.map((_, i) => Math.floor(i * 7_500)));
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByText('none by a minute or more').waitFor();
  const { acts } = await app.inspector.acts();
  expect(acts[0]).toMatchObject({ act: 'rescheduleMany', count: JOBS, on: { tube: MAILS } });
});

it('says on the timeline of all tubes which will be late', async () => {
  const app = await withPeak();
  const { page } = await browser.open(app.at('timeline', { span: 'day' }));
  await page.getByText(/^mail.+ \d\d:\d\d to .*\d\d:\d\d, up to 1[012]m$/).waitFor();
  await page.getByRole('definition').getByRole('link', { name: MAILS }).click();
  await page.getByText('10 jobs a minute (rate limit)').waitFor();
});

it('says what is no duration, and spreads a range that was zoomed into', async () => {
  const app = await withPeak();
  const { page } = await browser.open(app.at('timeline', { span: 'day', tube: MAILS }));
  await page.locator('rect.tube').first().click();
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await page.getByRole('button', { name: 'Spread…', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`: ${JOBS}.`).waitFor();
  for (const wrong of ['soon', '0s']) {
    await dialog.getByRole('textbox', { name: 'Over' }).fill(wrong);
    await dialog.getByRole('status').filter({ hasText: 'Enter a duration' }).waitFor();
    expect(await dialog.getByRole('button', { name: 'Count jobs' }).isDisabled()).toBe(true);
  }
});

it('hatches the jobs of tubes that stand still', async () => {
  const app = await start();
  await app.control.pause(ORDERS);
  await app.producer.delay(ORDERS, {}, '20m');
  await app.producer.delay('nobody', {}, '30m');
  const { page } = await browser.open(app.at('timeline'));
  await page.locator('rect.hatched').nth(1).waitFor();
  await page.getByText('Paused or not consumed').waitFor();
  await app.control.resume(ORDERS);
  await eventually('it is no longer hatched', async () => (await page.locator('rect.hatched').count()) === 1);
});

it('resumes a tube gradually where many jobs are overdue', async () => {
  const app = await start();
  await app.control.pause(ORDERS);
  await app.producer.addMany(
    ORDERS,
    Array.from({ length: JOBS }, () => ({ payload: {}, delay: 0 })),
  );
  const { page } = await browser.open(app.at(`tubes/${ORDERS}`));
  await page
    .getByRole('button', { name: `Resume ${ORDERS}` })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`Overdue jobs: ${JOBS}.`).waitFor();
  await dialog.getByRole('spinbutton', { name: 'Jobs a minute' }).fill('2');
  await dialog.getByText(/^Caught up at /).waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Count jobs' }).click();
  await dialog.getByRole('button', { name: `Resume with ${JOBS} overdue jobs` }).click();
  await dialog
    .getByRole('status')
    .filter({ hasText: `Done. Changed: ${JOBS}.` })
    .first()
    .waitFor();
  expect(await app.control.resume(ORDERS)).toEqual({});
  expect((await app.inspector.jobs(ORDERS)).listed).toBeGreaterThan(JOBS - 10);
});

it('marks where the clock of the viewer changes', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '1h');
  const options = { timezoneId: 'Europe/Berlin' };
  const [from, to] = ['2030-03-30T12:00:00.000Z', '2030-04-01T00:00:00.000Z'];
  const { page } = await browser.open(app.at('timeline', { tube: ORDERS, from, to }), options);
  await page.getByText('The clock goes forward 1h').waitFor();
  expect(await page.locator('line.mark.clock').count()).toBe(1);
});
