import { hostname } from 'node:os';
import { expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { DelayedHandler, DqSeries, Recurring, type DelayedJob } from 'nest-dq';
import type { SeriesView } from 'nest-dq/operate';
import type { ClusterInspector } from 'nest-dq/src/operate/inspector.js';
import { eventually } from 'test-servers';
import { browserSuite, openSettings } from './browser.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

@Injectable()
class Reports {
  fails = false;

  @Recurring('report.nightly', '0 3 * * *', { tz: 'Europe/Berlin' })
  nightly(): void {
    if (this.fails) throw new TypeError('no such table\n at line 3');
  }

  @Recurring('report.workday', { name: 'first workday', next: () => new Date('2040-01-02T09:00:00Z') })
  workday(): void {}
}

@Injectable()
class Slow {
  @DelayedHandler('slow')
  run(_payload: unknown, { signal }: DelayedJob): Promise<void> {
    return new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error)),
    );
  }
}

it('puts a cron expression into words, in the language of the page, and leaves a calendar as it is', async () => {
  const app = await start({ providers: [Reports] });
  const { page } = await browser.open(app.at('series'));
  const series = page.getByRole('main').getByRole('region', { name: 'Series' });
  await series.getByText('At 03:00, every day (Europe/Berlin)').waitFor();
  await series.getByText('0 3 * * * Europe/Berlin').waitFor();
  await series.getByText('calendar first workday').waitFor();
  await openSettings(page);
  await page.getByLabel('Language').selectOption('zh');
  await page.getByText('在03:00，每天（Europe/Berlin）').waitFor();
});

it('are on a page of their own, to which the cluster leads, and on the page of their tube', async () => {
  const app = await start({ providers: [Reports] });
  const { page } = await browser.open(app.at('cluster'));
  await page.getByRole('main').getByRole('link', { name: 'Series' }).click();
  await page.getByRole('heading', { level: 1, name: 'Series' }).waitFor();
  await page.goto(app.at('tubes/report.nightly'));
  const series = page.getByRole('main').getByRole('region', { name: 'Series' });
  await series.getByText('0 3 * * * Europe/Berlin').waitFor();
  expect(await series.getByRole('row').count()).toBe(2);
  await page.goto(app.at(`tubes/${ORDERS}`));
  await page.getByRole('region', { name: 'Job counts' }).waitFor();
  await series.waitFor({ state: 'detached' });
});

it('shows when a series ran last, how that ended, how long it took, and where', async () => {
  const app = await start({ providers: [Reports] });
  const { page } = await browser.open(app.at('series'));
  const series = page.getByRole('main').getByRole('region', { name: 'Series' });
  const row = series.getByRole('row').filter({ hasText: 'report.nightly' });
  await row.getByRole('button', { name: /^Trigger now/ }).click();
  await row.getByText('completed').waitFor();
  await row.getByText(`${hostname()}:${process.pid}`).waitFor();
  app.get(Reports).fails = true;
  await row.getByRole('button', { name: /^Trigger now/ }).click();
  await row.getByText('failed, will be retried').waitFor();
  await row.getByText('TypeError: no such table').waitFor();
}, 60_000);

it('lists series made at run time, finds them by the beginning of a name, skips a run, and removes one', async () => {
  const app = await start({ providers: [Reports] });
  const plan = { tube: 'digest', cron: '0 8 * * *', payload: { secret: 'xyzzy' } };
  for (const name of ['acme:digest', 'acme:other', 'beta:digest']) await app.get(DqSeries).upsert(name, plan);
  const { page } = await browser.open(app.at('series'));
  const series = page.getByRole('region', { name: 'Series made at run time' });
  await series.getByText('3 in total').waitFor();
  await series.getByRole('searchbox', { name: 'Name begins with' }).fill('acme:');
  await page.keyboard.press('Enter');
  await series.getByText('beta:digest').waitFor({ state: 'detached' });
  const row = series.getByRole('row').filter({ hasText: 'acme:digest' });
  const nextBefore = (await app.get(DqSeries).find('acme:digest'))!.next;
  await row.getByRole('button', { name: /^Skip next run/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Skip next run' }).click();
  await page.getByText('Next run skipped.').waitFor();
  const nextAfter = (await app.get(DqSeries).find('acme:digest'))!.next;
  expect(nextAfter!.getTime() - nextBefore!.getTime()).toBe(86_400_000);
  await row.getByRole('button', { name: /^Remove/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await row.waitFor({ state: 'detached' });
  expect(await page.content()).not.toContain('xyzzy');
}, 60_000);

it('says which series did not run, in the status bar, among the problems, and in its row', async () => {
  const app = await start({ providers: [Reports] });
  const missed: SeriesView = {
    tube: 'report.nightly',
    key: 'recurring',
    plan: '0 3 * * * Europe/Berlin',
    processes: 0,
    state: 'waiting',
    next: new Date(Date.now() - 720_000),
    missedSince: new Date(Date.now() - 720_000),
    later: [],
  };
  const inspector = app.inspector as ClusterInspector;
  inspector.series = inspector.seriesStates = async () => [missed];
  const { page } = await browser.open(app.at('series'));
  const series = page.getByRole('main').getByRole('region', { name: 'Series' });
  await series.getByText(/^should have run 12m/).waitFor();
  await page.getByRole('status').filter({ hasText: 'Series did not run: report.nightly' }).waitFor();
  await page.getByRole('link', { name: 'Tubes', exact: true }).click();
  const problems = page.getByRole('main').getByRole('region', { name: 'Problems' });
  await problems.getByText('Series did not run').waitFor();
  await problems.getByRole('link', { name: 'Job report.nightly' }).click();
  await page.getByText('Not due until').first().waitFor();
}, 60_000);

it('aborts a run, after saying what that does, and shows how long others take', async () => {
  const app = await start({ providers: [Slow] });
  const inspector = app.inspector as ClusterInspector;
  inspector.historyOfTubes = async () => [
    { tube: 'slow', perMinute: 1, meanRun: 31, hours: [], minutes: [] },
  ];
  const key = 'report-7';
  const { id } = await app.producer.now('slow', {}, { key });
  const { page } = await browser.open(app.at('running'));
  const row = page.getByRole('main').getByRole('row').filter({ hasText: key });
  await row.getByText('usually 31ms').waitFor();
  await row.getByRole('button', { name: /^Abort run/ }).click();
  const dialog = page.getByRole('dialog', { name: `Abort the run of ${key} of slow?` });
  await dialog.getByText('one that ignores its signal keeps running to the end').waitFor();
  await dialog.getByRole('button', { name: 'Abort run' }).click();
  await page.getByText('Handler asked to stop. Nothing follows this run.').waitFor();
  const state = async () => (await app.producer.find({ tube: 'slow', id }))?.state;
  await eventually('it is revoked', async () => (await state()) === 'revoked');
  await row.waitFor({ state: 'detached' });
  const { acts } = await app.inspector.acts();
  expect(acts).toMatchObject([{ act: 'abort', on: { tube: 'slow', id, key }, count: 1 }]);
}, 60_000);
