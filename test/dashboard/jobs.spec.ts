import { expect, it } from '@jest/globals';
import { defineTube } from 'nest-dq';
import { eventually } from 'test-servers';
import { browserSuite, type Viewer } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS, type DashboardApp } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();
const job = { tube: ORDERS, key: 'order-42' };

async function openJob(app: DashboardApp): Promise<Viewer> {
  await app.producer.delay(ORDERS, { order: 42 }, '1h', { key: job.key });
  return browser.open(app.at(`job?tube=${ORDERS}&key=${job.key}`));
}

const stateOf = async (app: DashboardApp) => (await app.producer.find(job))?.state;

it('runs a job now', async () => {
  const app = await start();
  const { page } = await openJob(app);
  await page.getByRole('button', { name: /^Run now/ }).click();
  await eventually('it ran', () => app.ran.length === 1);
  expect(app.ran).toEqual([{ order: 42 }]);
});

it('revokes a job, after it asked', async () => {
  const app = await start();
  const { page } = await openJob(app);
  const revoke = page.getByRole('button', { name: /^Revoke/ });
  await revoke.click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  expect(await stateOf(app)).toBe('waiting');
  await revoke.click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await eventually('it is revoked', async () => (await stateOf(app)) === 'revoked');
});

it('moves a job', async () => {
  const app = await start();
  const { page } = await openJob(app);
  const before = (await app.producer.find(job))!.dueAt.getTime();
  await page.getByRole('button', { name: /^Reschedule/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('5h');
  await dialog.getByRole('button', { name: 'Reschedule' }).click();
  await dialog.waitFor({ state: 'detached' });
  await eventually(
    'it is due in five hours',
    async () => (await app.producer.find(job))!.dueAt.getTime() - before >= 4 * 3_600_000,
  );
});

it('shows the payload of a job when it is asked for', async () => {
  const app = await start();
  const { page } = await openJob(app);
  expect(await page.content()).not.toContain('"order"');
  await page.getByRole('button', { name: 'Show payload' }).click();
  await page.getByText('"order": 42').waitFor();
});

it('shows what a codec wrote, text and bytes, and says why it can not be edited', async () => {
  const app = await start();
  const codec = { name: 'own', encode: (given: unknown) => given as string, decode: String };
  const tube = defineTube<string | Buffer>(ORDERS, { codec });
  for (const [payload, size, text] of [
    ['{"order":42}', '12\u00a0B', '"order": 42'],
    [Buffer.from([1, 2, 255]), '3\u00a0B', undefined],
  ] as const) {
    await app.producer.delay(tube, payload, '1h', { key: job.key });
    const { page } = await browser.open(app.at(`job?tube=${ORDERS}&key=${job.key}`));
    await page.getByRole('button', { name: 'Show payload' }).click();
    await page.getByText(`Encoded with own, ${size}.`).waitFor();
    expect(await page.getByText('"order": 42').count()).toBe(text === undefined ? 0 : 1);
    const edit = page.getByRole('button', { name: 'Edit and run' });
    expect(await edit.getAttribute('title')).toMatch(/^Only the application can write own/);
    expect(await edit.getAttribute('aria-disabled')).toBe('true');
  }
});

it('finds a job by its key, by its id and by its receipt', async () => {
  const app = await start();
  const receipt = await app.producer.delay(ORDERS, {}, '1h', { key: job.key });
  const { page } = await browser.open(app.at('timeline'));
  const name = new RegExp(`^(${job.key}|${receipt.id})$`);
  for (const text of [job.key, receipt.id, receipt.ref, JSON.stringify(receipt)]) {
    await page.getByRole('button', { name: 'Search jobs' }).click();
    await page.getByRole('dialog').getByRole('combobox').fill(text);
    await page.getByRole('dialog').getByRole('combobox').press('Enter');
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
    await page.getByRole('link', { name: 'Timeline' }).click();
  }
});

it('lists all jobs of a key, and searches on from there', async () => {
  const app = await start();
  for (const tube of [ORDERS, GIVES_UP])
    await app.producer.delay(tube, { because: 'x' }, '1h', { key: job.key });
  const { page } = await browser.open(app.at('search', { q: job.key }));
  await page.getByText(/^Searched (\d) of \1 tubes\./).waitFor();
  expect(await page.getByRole('main').getByRole('link', { name: job.key }).count()).toBe(2);
  await page.keyboard.press('/');
  const field = page.getByRole('dialog').getByRole('combobox');
  await eventually('it has what was searched for', async () => (await field.inputValue()) === job.key);
});
