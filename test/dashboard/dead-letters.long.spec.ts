import { expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, type DashboardApp } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();
const address = `dead?tube=${GIVES_UP}`;

const deadIn = async (app: DashboardApp) => (await app.letters.list(GIVES_UP)).letters.length;

it('shows why a letter died, and its payload when it is asked for', async () => {
  const app = await start();
  await app.addDead('no such mailbox');
  const { page } = await browser.open(app.at(address));
  await page.getByText('no such mailbox').first().waitFor();
});

it('revives a letter', async () => {
  const app = await start();
  await app.addDead('no such mailbox');
  const before = (await app.letters.list(GIVES_UP)).letters[0]!;
  const { page } = await browser.open(app.at(address));
  await page.getByRole('button', { name: /^Revive 0/ }).click();
  await eventually('it died again', async () => {
    const [letter] = (await app.letters.list(GIVES_UP)).letters;
    return letter !== undefined && letter.diedAt > before.diedAt;
  });
});

it('discards a letter, after it asked', async () => {
  const app = await start();
  await app.addDead('no such mailbox');
  const { page } = await browser.open(app.at(address));
  await page.getByRole('button', { name: /^Discard 0/ }).click();
  expect(await deadIn(app)).toBe(1);
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await eventually('it is gone', async () => (await deadIn(app)) === 0);
});

it('discards all letters that match, and counts them first', async () => {
  const app = await start();
  for (const because of ['no such mailbox', 'no such mailbox', 'refused']) await app.addDead(because);
  const { page } = await browser.open(app.at(`${address}&error=mailbox`));
  await page.getByRole('button', { name: /^Discard all/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('status').filter({ hasText: '2' }).waitFor();
  expect(await deadIn(app)).toBe(3);
  await dialog.getByRole('button', { name: 'Discard 2 letters' }).click();
  await eventually('two are gone', async () => (await deadIn(app)) === 1);
});

it('filters by the typed error, and keeps it while more jobs die', async () => {
  const app = await start();
  await app.addDead('no such mailbox');
  await app.addDead('refused');
  const { page } = await browser.open(app.at(address));
  const error = page.getByRole('main').getByRole('searchbox');
  await error.pressSequentially('mail');
  await app.addDead('refused');
  await page.getByRole('link', { name: 'Dead letters' }).getByText('3').waitFor();
  await error.pressSequentially('box');
  await error.press('Enter');
  await page.getByText('refused').first().waitFor({ state: 'detached' });
  await page.getByText('no such mailbox').first().waitFor();
  expect(page.url()).toContain('error=mailbox');
});

it('says how far it has looked for a rare error, and stops when asked', async () => {
  const app = await start();
  await app.addDead('no such mailbox');
  const { page } = await browser.open(app.at(address));
  await page.getByText('no such mailbox').first().waitFor();
  let asked = 0;
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  await page.route(/\/dead\?.*error=rare/, async (route) => {
    const isPoll = route.request().url().includes('brief');
    if (!isPoll && ++asked === 3) await opened;
    const more = { letters: [], looked: 10_000, cursor: 'next' };
    await route.fulfill({ json: { ...more, matching: { letters: 0, more: true } } });
  });
  const error = page.getByRole('main').getByRole('searchbox');
  await error.fill('rare');
  await error.press('Enter');
  await page.getByText('Searching… 20,000 looked at so far.').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('None of the 20,000 dead letters looked at so far match.').waitFor();
  await page.getByRole('button', { name: 'Load more' }).waitFor();
  expect(asked).toBe(3);
  open();
  await page.unrouteAll({ behavior: 'wait' });
});
