import { Injectable } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { DelayedHandler, Discard } from 'nest-dq';
import { eventually } from 'test-servers';
import { accessibilityFindings, browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, type DashboardApp } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();
/** A second tube whose jobs are given up. */
const INVOICES = 'invoice.send';

@Injectable()
class Invoices {
  @DelayedHandler(INVOICES)
  giveUp({ because }: { because: string }): Discard {
    return Discard.because(because);
  }
}

const deadIn = async (app: DashboardApp, tube: string) => (await app.inspector.tube(tube)).dead;

/** Two errors: one of them with different numbers, and in two tubes. */
async function withTwoErrors(): Promise<DashboardApp> {
  const app = await start({ providers: [Invoices] });
  await app.addDead('order 1 has no user', 'order-1');
  await app.addDead('order 22 has no user', 'order-22');
  await app.addDead('mailbox full');
  await app.producer.now(INVOICES, { because: 'order 3 has no user' });
  await eventually('all are dead', async () => (await deadIn(app, INVOICES)) === 1);
  return app;
}

it('first shows the dead letters of all tubes by error, with the number and the tubes of each', async () => {
  const app = await withTwoErrors();
  const { page } = await browser.open(app.at('dead'));
  const rows = page.getByRole('main').getByRole('row');
  await rows.nth(2).waitFor();
  expect(await rows.count()).toBe(3);
  const [first, second] = [rows.nth(1), rows.nth(2)];
  await first.getByText('order … has no user').waitFor();
  expect(await first.getByRole('link').allInnerTexts()).toEqual([GIVES_UP, INVOICES, '3']);
  expect(await second.getByRole('link').allInnerTexts()).toEqual([GIVES_UP, '1']);
  await page.getByText('4 dead letters in 2 groups').waitFor();
  await first.getByRole('img', { name: /^3 deaths from / }).waitFor();
});

it('opens the latest letter of a group, and leads to all of them', async () => {
  const app = await withTwoErrors();
  const { page } = await browser.open(app.at('dead'));
  await page
    .getByRole('button', { name: /order … has no user/ })
    .first()
    .click();
  const sample = page.getByRole('region', { name: 'Latest letter' });
  await sample.getByText('order 3 has no user').waitFor();
  await sample.getByRole('button', { name: 'Show payload' }).click();
  await sample.getByText('"because": "order 3 has no user"').waitFor();
  await sample.getByRole('link', { name: 'Show all 3' }).click();
  await page.getByText('Matching: 3').waitFor();
  const rows = page.getByRole('main').getByRole('row');
  await rows.nth(3).waitFor();
  expect(await rows.count()).toBe(4);
  await rows.getByText('order-22').waitFor(); // the key
  await page.getByRole('link', { name: 'Show letters with any error' }).click();
  await page.getByText('Matching: 4').waitFor();
});

it('discards a group in all of its tubes, after it has counted and named them', async () => {
  const app = await withTwoErrors();
  const { page } = await browser.open(app.at('dead'));
  await page.getByRole('button', { name: /^Discard Discard: order … has no user/ }).click();
  const dialog = page.getByRole('dialog', {
    name: /^Discard 3 dead letters of 2 tubes, died .+, error “Discard: order … has no user”$/,
  });
  await dialog.waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  expect([await deadIn(app, GIVES_UP), await deadIn(app, INVOICES)]).toEqual([3, 1]);
  await dialog.getByRole('button', { name: 'Discard 3 letters' }).click();
  await dialog.getByText('Done. Changed: 3.').waitFor();
  expect([await deadIn(app, GIVES_UP), await deadIn(app, INVOICES)]).toEqual([1, 0]);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByText('1 dead letter in 1 group').waitFor();
});

it('continues with the other tubes of a group after an interruption', async () => {
  const app = await withTwoErrors();
  const { page, problems } = await browser.open(app.at('dead'));
  let cut = () => app.cutConnections();
  const discardMany = app.control.discardMany.bind(app.control);
  app.control.discardMany = async function* (tube, filter, options) {
    for await (const each of discardMany(tube, filter, options)) {
      yield each;
      if (options?.dryRun || each.done === 0) continue;
      cut();
      cut = () => undefined;
    }
  };
  await page.getByRole('button', { name: /^Discard Discard: order … has no user/ }).click();
  const dialog = page.getByRole('dialog');
  problems.expect(/ERR_/);
  await dialog.getByRole('button', { name: 'Discard 3 letters' }).click();
  await dialog.getByText('Stopped early.').waitFor();
  await eventually('the first tube is over', async () => (await deadIn(app, GIVES_UP)) === 1);
  await dialog.getByRole('button', { name: 'Resume' }).click();
  await dialog.getByText('Done.').waitFor();
  expect(await deadIn(app, INVOICES)).toBe(0);
});

it('says how many died since, and groups them when it is refreshed', async () => {
  const app = await withTwoErrors();
  const { page } = await browser.open(app.at('dead'));
  await page.getByText('4 dead letters in 2 groups').waitFor();
  await page.getByRole('link', { name: 'Dead letters' }).getByText('4').waitFor();
  await app.addDead('disk full');
  await page.getByRole('status').getByText('1 new').waitFor();
  expect(await page.getByRole('main').getByText('disk full').count()).toBe(0);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByText('disk full').waitFor();
  await page.getByText('5 dead letters in 3 groups').waitFor();
});

it('filters groups by a part of the error, in upper or lower case', async () => {
  const app = await withTwoErrors();
  const { page } = await browser.open(app.at('dead'));
  await page.getByText('4 dead letters in 2 groups').waitFor();
  const error = page.getByRole('main').getByRole('searchbox');
  await error.fill('MAILBOX');
  await error.press('Enter');
  await page.getByText('1 dead letter in 1 group').waitFor();
  await page.getByText('mailbox full').waitFor();
  await page.getByRole('button', { name: 'Letters', exact: true }).click();
  await page.getByText('Matching: 1').waitFor();
});

it('shows what has become of the groups, in their places, until it is refreshed', async () => {
  const app = await withTwoErrors();
  const { page } = await browser.open(app.at('dead'));
  await page.getByText('4 dead letters in 2 groups').waitFor();
  for await (const { failed } of app.control.discardMany(GIVES_UP, { error: 'mailbox' }))
    expect(failed).toBe(0);
  const rows = page.getByRole('main').getByRole('row');
  await page.getByRole('status').getByText('1 gone').waitFor();
  expect(await rows.nth(2).getAttribute('class')).toBe('gone');
  expect(
    await rows
      .nth(2)
      .getByRole('button', { name: /^Revive/ })
      .count(),
  ).toBe(0);
  await page.keyboard.press('r');
  await page.getByText('3 dead letters in 1 group').waitFor();
});
