import type { Browser, Locator, Page, Request } from 'playwright-core';
import { GIVEN_UP, KEY, LARGEST } from './stored.js';

/** Something to open, below the address of a dashboard. */
export interface Look {
  readonly name: string;
  readonly path: string;
  /** The element that is visible once the first data has loaded. */
  readonly shows: (page: Page) => Locator;
}

const linkIn = (page: Page) => page.getByRole('main').getByRole('table').getByRole('link').first();
const barIn = (page: Page) => page.locator('rect.series-0').first();
const columnIn = (page: Page) =>
  page.getByRole('region', { name: 'Added' }).locator('rect.series-other').first();

/** The pages with the most on them. */
const MONTH: Look = { name: 'timeline, a month', path: '#/timeline?span=month', shows: barIn };
const JOBS: Look = {
  name: 'waiting jobs of a tube',
  path: `#/waiting?tube=${LARGEST}`,
  shows: linkIn,
};
const TUBE: Look = { name: 'a tube and its two days', path: `#/tubes/${LARGEST}`, shows: columnIn };

export const LOOKS: readonly Look[] = [
  { name: 'timeline', path: '', shows: barIn },
  MONTH,
  { name: 'tubes', path: '#/tubes', shows: linkIn },
  TUBE,
  { name: 'waiting jobs', path: '#/waiting', shows: linkIn },
  JOBS,
  { name: 'dead letters', path: '#/dead', shows: linkIn },
  { name: 'dead letters of a tube', path: `#/dead?tube=${GIVEN_UP}`, shows: linkIn },
];

/** The least that a browser can show: what any page costs it. */
export const BARE: Look = {
  name: 'a bare answer',
  path: 'api/session',
  shows: (page) => page.getByText('version'),
};

/** A page in a context that has nothing in its cache. Resolves when its first data is on screen. */
export async function openPage(
  browser: Browser,
  url: string,
  { path, shows }: Look,
  seen: (request: Request) => void = () => {},
): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-US' });
  const page = await context.newPage();
  page.on('request', seen);
  await page.goto(url + path, { waitUntil: 'commit' });
  await shows(page).waitFor();
  return page;
}

/** The three on which viewers act. `seen` is called with each request. */
export async function openHeaviest(
  browser: Browser,
  url: string,
  seen?: (request: Request) => void,
): Promise<ReadonlyMap<Look, Page>> {
  const pages = [MONTH, JOBS, TUBE].map(
    async (look) => [look, await openPage(browser, url, look, seen)] as const,
  );
  return new Map(await Promise.all(pages));
}

/** A viewer's action on a page. Resolves when its result is on screen. */
export interface Act {
  readonly name: string;
  readonly on: Look;
  readonly act: (page: Page) => Promise<void>;
}

/** In turn: each finds its page as the one before has left it. */
export const ACTS: readonly Act[] = [
  {
    name: 'zoom in',
    on: MONTH,
    act: (page) => withOtherTimes(page, () => page.getByRole('slider').dblclick()),
  },
  { name: 'next page', on: JOBS, act: showMore },
  { name: 'search of a key', on: TUBE, act: search },
  {
    name: 'zoom out',
    on: MONTH,
    act: (page) => withOtherTimes(page, () => page.getByRole('button', { name: 'Zoom out' }).click()),
  },
  { name: 'next page', on: JOBS, act: showMore },
  { name: 'back to a tube', on: TUBE, act: goBack },
];

/** Until the timeline has the bars of other times. */
async function withOtherTimes(page: Page, act: () => Promise<void>): Promise<void> {
  const times = page.locator('.card-head .faint').first();
  const before = await times.innerText();
  await act();
  await times.filter({ hasNotText: before }).waitFor();
}

/** Until the list ends with another job. */
async function showMore(page: Page): Promise<void> {
  const last = page.locator('main tbody a').last();
  const before = await last.innerText();
  await page.getByRole('button', { name: 'Load more', exact: true }).click();
  await last.filter({ hasNotText: before }).waitFor();
}

async function search(page: Page): Promise<void> {
  await page.getByRole('searchbox').fill(KEY);
  await page.getByRole('searchbox').press('Enter');
  await page.getByRole('main').getByRole('link', { name: KEY }).waitFor();
}

async function goBack(page: Page): Promise<void> {
  await page.goBack();
  await TUBE.shows(page).waitFor();
}
