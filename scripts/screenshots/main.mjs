// Takes pictures of the dashboard of the sample application, with the jobs of a shop: those of the documentation, or, if a
// folder is given, each page, dialog and outage in light and dark, wide and narrow, to look at before a release.
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from 'test-servers/browser';
import { DIALOGS, OUTAGES, pagesOf } from './pictures.mjs';
import { Shop } from './shop.mjs';

/** The pictures of the documentation. */
const IN_DOCS = [
  'timeline-light-wide',
  'timeline-dark-wide',
  'job-light-wide',
  'dead-light-wide',
  'kafka-light-wide',
  'redis-light-wide',
];
const DOCS = fileURLToPath(new URL('../../docs/images', import.meta.url));

const SIZES = { wide: { width: 1_280, height: 720 }, narrow: { width: 390, height: 844 } };
const VIEWS = Object.entries(SIZES).flatMap(([size, viewport]) =>
  ['light', 'dark'].map((colorScheme) => ({ name: `${colorScheme}-${size}`, viewport, colorScheme })),
);

const folder = process.argv[2];
const to = folder === undefined ? DOCS : resolve(folder);
await mkdir(to, { recursive: true });
const shop = await Shop.open();
try {
  const order = await shop.stock();
  const browser = await launchBrowser();
  const open = ({ viewport, colorScheme }) =>
    browser.newPage({ viewport, colorScheme, locale: 'en-US', reducedMotion: 'reduce' });
  const dashboard = `${await shop.app.getUrl()}/dq`;
  for (const view of VIEWS) {
    const page = await open(view);
    for (const [name, { hash, shows }] of Object.entries(pagesOf(order)))
      await take(page, `${name}-${view.name}`, () => visit(page, hash, shows));
    for (const [name, { hash, shows, act }] of Object.entries(DIALOGS))
      await take(page, `${name}-${view.name}`, async () => {
        await visit(page, hash, shows);
        await act(page);
      });
    await page.close();
  }
  for (const [name, { hash, shows, begin, says, end }] of Object.entries(OUTAGES)) {
    const wanted = VIEWS.filter((view) => isWanted(`${name}-${view.name}`));
    const pages = await Promise.all(wanted.map(open));
    for (const page of pages) await visit(page, hash, shows);
    await begin(shop);
    for (const [i, page] of pages.entries())
      await take(page, `${name}-${wanted[i].name}`, () =>
        page.getByRole('region', { name: 'Status' }).getByText(says).first().waitFor(),
      );
    await end(shop);
    for (const page of pages) await page.close();
  }
  await browser.close();

  async function visit(page, hash, shows) {
    await page.goto('about:blank'); // or a dialog of the picture before would stay open
    await page.goto(`${dashboard}/#/${hash}`);
    await page.locator('.live:is([data-state=well], [data-state=open])').waitFor();
    await page.getByRole('main').getByText(shows).first().waitFor();
  }
} finally {
  await shop.close();
}

function isWanted(picture) {
  return folder !== undefined || IN_DOCS.includes(picture);
}

async function take(page, picture, show) {
  if (!isWanted(picture)) return;
  await show();
  const path = join(to, `${picture}.png`);
  const isWhole = folder !== undefined && !(await page.getByRole('dialog').isVisible());
  await page.screenshot({ animations: 'disabled', path, ...(isWhole && (await wholePage(page))) });
  console.log(path);
}

/** Options for all of a page, but no more than two screens. */
async function wholePage(page) {
  const { width, height } = page.viewportSize();
  const whole = await page.evaluate(() => document.documentElement.scrollHeight);
  return { fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(whole, 2 * height) } };
}
