import { expect, it } from '@jest/globals';
import type { Locator } from 'playwright-core';
import type { BulkProgress } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS, type DashboardApp } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

/** More than two pages of what an act on many reads. */
const JOBS = 300;
const HOUR = 3_600_000;

/** An app with many jobs due in an hour, and one in three hours. */
async function withMany(): Promise<DashboardApp> {
  const app = await start();
  await app.control.pause(ORDERS);
  await app.producer.addMany(
    ORDERS,
    Array.from({ length: JOBS }, () => ({ payload: {}, delay: '1h' as const })),
  );
  await app.producer.delay(ORDERS, {}, '3h', { key: 'later' });
  return app;
}

/** Holds an act at the end of its first page until it is opened. */
class Gate {
  private opened!: () => void;
  private readonly whenOpen = new Promise<void>((resolve) => (this.opened = resolve));

  open(): void {
    this.opened();
  }

  /** The same act, held back after each page of changes. A dry run is not. */
  async *hold<Example>(
    progress: AsyncIterable<BulkProgress<Example>>,
    dryRun = false,
  ): AsyncGenerator<BulkProgress<Example>, void, undefined> {
    for await (const page of progress) {
      yield page;
      if (!dryRun && page.done > 0) await this.whenOpen;
    }
  }
}

/** A filter of the page: until in two hours. */
const SOON = () => ({ tube: ORDERS, to: new Date(Date.now() + 2 * HOUR).toISOString() });

const says = (dialog: Locator, text: string) =>
  dialog.getByRole('status').filter({ hasText: text }).first().waitFor();

/** The dialog that revokes all that match. The act is held back after each page until the gate is open. */
async function openRevoke(app: DashboardApp) {
  const gate = new Gate();
  const revokeMany = app.control.revokeMany.bind(app.control);
  app.control.revokeMany = (tube, filter, options) =>
    gate.hold(revokeMany(tube, filter, options), options?.dryRun);
  const { page } = await browser.open(app.at('waiting', SOON()));
  await page.getByRole('button', { name: 'Revoke all matching' }).click();
  return { gate, page, dialog: page.getByRole('dialog') };
}

it('revokes all jobs that match: counts them, asks, shows its progress, and ends', async () => {
  const app = await withMany();
  const { gate, page, dialog } = await openRevoke(app);
  const go = dialog.getByRole('button', { name: `Revoke ${JOBS} jobs` });
  await go.waitFor();
  expect((await app.inspector.jobs(ORDERS)).listed).toBe(JOBS + 1);
  await go.click();
  await says(dialog, '128');
  gate.open();
  await says(dialog, String(JOBS));
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('No waiting jobs match').waitFor();
  const { jobs } = await app.inspector.jobs(ORDERS);
  expect(jobs.map(({ id }) => id)).toEqual([(await app.producer.find({ tube: ORDERS, key: 'later' }))!.id]);
}, 60_000);

it('moves all jobs that match by the same time', async () => {
  const app = await withMany();
  const dueAt = async () =>
    (await app.inspector.jobs(ORDERS, { limit: 1_000 })).jobs.map((job) => +job.dueAt);
  const before = await dueAt();
  const { page } = await browser.open(app.at('waiting', SOON()));
  await page.getByRole('button', { name: 'Reschedule all matching' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox').selectOption('later');
  await dialog.getByRole('textbox').fill('5h');
  await dialog.getByRole('button', { name: 'Reschedule' }).click();
  await dialog.getByRole('button', { name: `Reschedule ${JOBS} jobs` }).click();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'detached' });
  const last = before.at(-1)!;
  expect(await dueAt()).toEqual([last, ...before.slice(0, -1).map((each) => each + 5 * HOUR)]);
}, 60_000);

it('changes at most as many as the viewer says, and is over then', async () => {
  const app = await withMany();
  const { gate, page, dialog } = await openRevoke(app);
  gate.open();
  const most = dialog.getByRole('spinbutton', { name: 'At most' });
  await most.fill('0');
  expect(await dialog.getByRole('button', { name: /^Revoke/ }).isDisabled()).toBe(true);
  await most.fill('200');
  await dialog.getByRole('button', { name: 'Revoke 200 jobs' }).click();
  await says(dialog, 'Done. Changed: 200.');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page
    .getByRole('main')
    .getByText(`Listed: ${JOBS + 1 - 200}`)
    .waitFor();
  expect(await page.getByRole('region', { name: 'Interrupted action' }).count()).toBe(0);
}, 60_000);

it('does not resume a limited act that was interrupted, since it would change more than the viewer said', async () => {
  const app = await withMany();
  const { gate, page, dialog } = await openRevoke(app);
  await dialog.getByRole('spinbutton', { name: 'At most' }).fill('200');
  await dialog.getByRole('button', { name: 'Revoke 200 jobs' }).click();
  await says(dialog, '128');
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await says(dialog, 'stopped');
  expect(await dialog.getByRole('button', { name: 'Resume' }).count()).toBe(0);
  await dialog.getByRole('button', { name: 'Close' }).click();
  expect(await page.getByRole('region', { name: 'Interrupted action' }).count()).toBe(0);
  gate.open();
}, 60_000);

it('ends after its page when the viewer stops it', async () => {
  const app = await withMany();
  const { gate, page, dialog } = await openRevoke(app);
  await dialog.getByRole('button', { name: `Revoke ${JOBS} jobs` }).click();
  await says(dialog, '128');
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await says(dialog, 'stopped');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page
    .getByRole('main')
    .getByText(`Listed: ${JOBS + 1 - 128}`)
    .waitFor();
  gate.open();
}, 60_000);

/** The act ends after a page of which nobody hears. */
const secondPageIsOver = (app: DashboardApp) =>
  eventually(
    'two pages are revoked',
    async () => (await app.inspector.jobs(ORDERS)).listed === JOBS + 1 - 256,
  );

it('resumes where it was interrupted, even after the page was left', async () => {
  const app = await withMany();
  const { gate, page, dialog } = await openRevoke(app);
  await dialog.getByRole('button', { name: `Revoke ${JOBS} jobs` }).click();
  await says(dialog, '128');
  await page.reload();
  gate.open();
  const bar = page.getByRole('region', { name: 'Interrupted action' });
  await bar.getByText('at least: 128').waitFor();
  await secondPageIsOver(app);
  await page.getByRole('link', { name: 'Timeline' }).click();
  await bar.getByRole('button', { name: 'Resume' }).click();
  await dialog.getByRole('button', { name: `Revoke ${JOBS - 256} jobs` }).click();
  await says(dialog, `Done. Changed: ${JOBS - 128}.`);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await bar.waitFor({ state: 'detached' });
  expect((await app.inspector.jobs(ORDERS)).listed).toBe(1);
}, 60_000);

it('resumes in its dialog after the connection was lost', async () => {
  const app = await withMany();
  const gate = new Gate();
  const revokeMany = app.control.revokeMany.bind(app.control);
  app.control.revokeMany = (tube, filter, options) =>
    gate.hold(revokeMany(tube, filter, options), options?.dryRun);
  const { page, problems } = await browser.open(app.at('waiting', SOON()));
  await page.getByRole('button', { name: 'Revoke all matching' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: `Revoke ${JOBS} jobs` }).click();
  await says(dialog, '128');
  problems.expect(/ERR_/); // the browser reports connections that broke
  app.cutConnections();
  await says(dialog, 'Stopped early. Changed at least: 128.');
  gate.open();
  await secondPageIsOver(app);
  await dialog.getByRole('button', { name: 'Resume' }).click();
  await says(dialog, `Done. Changed: ${JOBS - 128}.`);
  expect((await app.inspector.jobs(ORDERS)).listed).toBe(1);
}, 60_000);

it('shows some of what it would change, and when that is due', async () => {
  const app = await start();
  await app.control.pause(ORDERS);
  const { id } = await app.producer.at(ORDERS, {}, new Date('2031-05-05T12:00:00Z'));
  await app.addDead('full', 'mail-7');
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  await page.getByRole('button', { name: 'Revoke all matching' }).click();
  const examples = page.getByRole('dialog').getByRole('region', { name: 'Examples:' });
  await examples.getByRole('listitem').first().waitFor();
  expect(await examples.getByRole('listitem').allInnerTexts()).toEqual([`${id}\nMay 5, 2031, 12:00:00`]);
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.goto(app.at('dead', { tube: GIVES_UP }));
  await page.getByRole('button', { name: 'Discard all matching' }).click();
  await examples.getByText('mail-7').waitFor();
}, 60_000);

it('revives those that are chosen, and then all that match', async () => {
  const app = await start();
  for (const because of ['full', 'no such mailbox', 'no such mailbox', 'no such mailbox'])
    await app.addDead(because);
  await app.control.pause(GIVES_UP);
  const has = async () => {
    const { waiting = 0, due = 0, dead } = await app.inspector.tube(GIVES_UP);
    return { waits: waiting + due, dead };
  };
  const { page } = await browser.open(app.at(`dead?tube=${GIVES_UP}`));
  const main = page.getByRole('main');
  const full = main.getByRole('row').filter({ hasText: 'full' });
  await full.getByRole('checkbox').check();
  await main.getByRole('button', { name: 'Revive', exact: true }).click();
  await full.waitFor({ state: 'detached' });
  expect(await has()).toEqual({ waits: 1, dead: 3 });

  await main.getByRole('checkbox', { name: 'Select all' }).check();
  await main.getByRole('row').nth(1).getByRole('checkbox').uncheck();
  await main.getByRole('button', { name: 'Discard', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await main.getByRole('row').nth(2).waitFor({ state: 'detached' });
  expect(await has()).toEqual({ waits: 1, dead: 1 });

  await main.getByRole('button', { name: 'Revive all matching' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Revive 1 letter' }).click();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await main.getByText('no dead letter').waitFor();
  expect(await has()).toEqual({ waits: 2, dead: 0 });
}, 60_000);
