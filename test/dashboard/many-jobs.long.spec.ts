import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from 'test-servers';
import { browserSuite } from './browser.js';
import { dashboardApps, GIVES_UP, ORDERS, type DashboardApp } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

const FEW = 100;
const MANY = 5_000;
const PAGE = 50;
/** Maximum rows of a list in the client. */
const MOST_ROWS = 500;
const MINUTE = 60_000;
/** Bytes or elements, as for more digits and another minute of history: less than a thousandth of what thousands of jobs would take. */
const A_LITTLE = 500;

/** Each page that shows jobs, what it asks for, and a part that is there once it has read that. */
const PAGES = [
  { address: 'timeline', asks: ['timeline', 'timeline/late'], part: 'rect.tube' },
  { address: 'tubes', asks: ['history/tubes'], part: 'main tbody a' },
  {
    address: `tubes/${ORDERS}`,
    asks: [`tubes/${ORDERS}`, 'history', 'history/tubes', 'series'],
    part: 'main dl',
  },
  { address: `waiting?tube=${ORDERS}`, asks: [`tubes/${ORDERS}/jobs`], part: 'main tbody a' },
  { address: 'waiting?key=none', asks: ['jobs'], part: 'main .empty' },
  { address: 'dead', asks: ['dead/groups'], part: 'main tbody a' },
  { address: `dead?tube=${GIVES_UP}`, asks: [`tubes/${GIVES_UP}/dead`], part: 'main tbody a' },
];
/** Requests that each page makes once. */
const ALWAYS = ['live', 'session'];

// A letter has the stack of its error, and runs are not all begun from the same place.
Error.stackTraceLimit = 1;

/** Adds jobs that come due within the next hour, but not before a slow machine has looked at them, and letters to the dead. */
async function add(app: DashboardApp, jobs: number, letters: number): Promise<void> {
  const of = (n: number) => ({ payload: n, delay: 9 * MINUTE + (n % 50) * MINUTE });
  await app.producer.addMany(
    ORDERS,
    Array.from({ length: jobs }, (_, n) => of(n)),
  );
  const dead = async () => (await app.inspector.tube(GIVES_UP)).dead ?? 0;
  const before = await dead();
  const calls = Array.from({ length: letters }, () => app.producer.now(GIVES_UP, { because: 'no mailbox' }));
  await Promise.all(calls);
  await eventually('they are dead', async () => (await dead()) === before + letters);
}

/** Collects the answers of a page from now on: the largest answer in bytes for each path below `api/`, without its query. */
function answersOf(page: Page): Map<string, number> {
  const largest = new Map<string, number>();
  page.on('response', (response) => {
    const [, path] = new URL(response.url()).pathname.split('/api/');
    if (path === undefined) return;
    const bytes = Number(response.headers()['content-length'] ?? NaN); // the live feed has none
    largest.set(path, Math.max(largest.get(path) ?? 0, bytes));
  });
  return largest;
}

async function look(app: DashboardApp, { address, asks, part }: (typeof PAGES)[number]) {
  const { page } = await browser.open('about:blank');
  const answers = answersOf(page);
  await page.goto(app.at(address));
  await page.locator(part).first().waitFor();
  const isAnswered = () => [...asks, ...ALWAYS].every((path) => answers.has(path));
  await eventually('it has asked for everything', isAnswered);
  const elements = await page.locator('*').count();
  await page.context().close();
  return { answers, elements };
}

it.each(PAGES)('asks for as much on $address for thousands of jobs as for a hundred', async (shown) => {
  const app = await start();
  await add(app, FEW, FEW);
  const few = await look(app, shown);
  await add(app, MANY, MANY / 10);
  const many = await look(app, shown);
  expect([...many.answers.keys()].sort()).toEqual([...shown.asks, ...ALWAYS].sort());
  for (const path of shown.asks)
    expect([path, many.answers.get(path)! - few.answers.get(path)! < A_LITTLE]).toEqual([path, true]);
  expect(many.elements - few.elements).toBeLessThan(A_LITTLE);
});

it('shows the last rows of a list that is read on and on', async () => {
  const app = await start();
  await add(app, MOST_ROWS + 2 * PAGE, 0);
  const { page } = await browser.open(app.at(`waiting?tube=${ORDERS}`));
  const rows = page.locator('main tbody tr');
  const ids = () => rows.locator('a').allTextContents();
  const more = page.getByRole('button', { name: 'Load more', exact: true });
  const cut = page.getByText(`Showing the last ${MOST_ROWS}.`);
  await rows.nth(PAGE - 1).waitFor();
  for (let read = 2 * PAGE; read <= MOST_ROWS; read += PAGE) {
    await more.click();
    await rows.nth(read - 1).waitFor();
  }
  const all = await ids();
  expect(all).toHaveLength(MOST_ROWS);
  expect(await cut.isVisible()).toBe(false);

  await more.click();
  await cut.waitFor();
  const last = await ids();
  expect(last).toHaveLength(MOST_ROWS);
  expect(last.slice(0, -PAGE)).toEqual(all.slice(PAGE));

  await page.getByRole('button', { name: 'Refresh' }).click();
  await cut.waitFor({ state: 'detached' });
  expect(await ids()).toEqual(all.slice(0, PAGE));
}, 180_000);
