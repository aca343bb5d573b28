import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from 'test-servers';
import { browserSuite } from './browser.js';
import { PAGES, startBusyApp } from './busy-app.js';
import { dashboardApps } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

/** Widths of windows on both sides of each at which the page changes, and usual ones. */
const WIDTHS = [390, 768, 900, 901, 1_024, 1_100, 1_101, 1_440];

/** Names, which are the same in each language. */
const NAMES =
  /nest-dq|nest-kq|Kafka|sales(?:\.shop\.kq-dead)?|shop|order\.cancel|mail\.send|order-4[12]|no such mailbox|Discard|English|embedded|Redis|Binlog|AOF|Node|Enter|Esc|UTC|ID|key|p50|p99|ms/g;

/** All that a page says, but for what is written as it is: ids, plans, payloads. */
function textsOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { document, NodeFilter } = globalThis as any;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts: string[] = [];
    while (walker.nextNode()) {
      const { parentElement, data } = walker.currentNode;
      if (!parentElement.closest('script, noscript, code, pre, .mono, kbd, time')) texts.push(data);
    }
    for (const element of document.querySelectorAll('[aria-label], [placeholder], [title]'))
      if (!element.matches('time'))
        texts.push(...['aria-label', 'placeholder', 'title'].map((name) => element.getAttribute(name) ?? ''));
    return [document.title, ...texts];
  });
}

/** Elements beyond the right side of the window. Charts clip their contents, and the heads of cards are not seen. */
async function beyond(page: Page, width: number): Promise<string[]> {
  await page.setViewportSize({ width, height: 900 });
  return page.evaluate(async () => {
    const { document, innerWidth, requestAnimationFrame } = globalThis as any;
    const found = () =>
      [...document.querySelectorAll('body *')]
        .filter((element) => !element.closest('thead, .unseen, .skip, .chart'))
        .filter((element) => element.getBoundingClientRect().right > innerWidth + 1);
    // A table becomes cards some frames after its room has changed.
    for (let frame = 0; frame < 300 && found().length > 0; frame++) await new Promise(requestAnimationFrame);
    return found().map((element) => element.outerHTML.slice(0, 120));
  });
}

/** Besides names: addresses, ids and versions. */
const NO_WORDS = /[\w-]+:\d+|\b[\w-]{20,26}(?![\w-])|v\d[\d.]*/g;

const withoutNames = (text: string) =>
  text.replaceAll(NO_WORDS, '').replaceAll(hostname(), '').replaceAll(NAMES, '');

describe.each([
  ['en', 'en-US'],
  ['zh', 'zh-CN'],
] as const)('in %s', (language, locale) => {
  it('each page fits into each window, and says all in the language', async () => {
    const app = await startBusyApp(start);
    const { page } = await browser.open(app.at('timeline'), { locale });
    const findings: unknown[] = [];
    for (const { hash, [language]: shown } of PAGES) {
      await page.goto(app.at(hash));
      await page.getByRole('main').getByText(shown).filter({ visible: true }).first().waitFor();
      for (const width of WIDTHS)
        for (const element of await beyond(page, width)) findings.push({ hash, width, element });
      const foreign = language === 'zh' ? /[A-Za-z]{2,}/ : /\p{Script=Han}/u;
      for (const text of await textsOf(page))
        if (foreign.test(withoutNames(text)) && text !== '中文') findings.push({ hash, text });
    }
    expect(findings).toEqual([]);
    expect(await page.locator('html').getAttribute('lang')).toBe(language);
  }, 60_000);
});

it('each page fits into each window with figures of any length, and rows are cards only where a table has no room', async () => {
  const app = await startBusyApp(start);
  const { page } = await browser.open('about:blank', { locale: 'en-US' });
  await page.addInitScript("Intl.NumberFormat.prototype.format = () => '1,234,567,890'");
  const findings: unknown[] = [];
  for (const { hash, en } of PAGES) {
    await page.goto(app.at(hash));
    await page.getByRole('main').getByText(en).filter({ visible: true }).first().waitFor();
    for (const width of [...WIDTHS, 1_800])
      for (const element of await beyond(page, width)) findings.push({ hash, width, element });
  }
  expect(findings).toEqual([]);
  await page.goto(app.at('cluster'));
  await page.getByRole('main').getByText('Connections').filter({ visible: true }).first().waitFor();
  const tables = page.locator('table');
  const cards = page.locator('table.cards');
  await page.setViewportSize({ width: 390, height: 900 });
  await eventually('all are cards', async () => (await cards.count()) === (await tables.count()));
  const link = page.getByRole('navigation').getByRole('link', { name: 'Tubes' });
  expect(await link.isVisible()).toBe(false);
  const menu = page.getByRole('button', { name: 'Menu' });
  const head = await page.getByRole('banner').boundingBox();
  expect(head!.height).toBeLessThan(60);
  await menu.click();
  await link.click();
  await page.getByRole('heading', { level: 1, name: 'Tubes' }).waitFor();
  await link.waitFor({ state: 'hidden' });
  await page.setViewportSize({ width: 1_800, height: 900 });
  await eventually('all are tables', async () => (await cards.count()) === 0);
  expect([await menu.isVisible(), await link.isVisible()]).toEqual([false, true]);
}, 60_000);

it('says in Chinese what to do about settings of Redis and of processes', async () => {
  const app = await start();
  const { inspector } = app;
  const ledger = await inspector.ledger();
  const servers = [{ address: 'redis:6379', up: true, policy: 'allkeys-lru', appendOnly: false }];
  inspector.ledger = async () => ({ ...ledger, servers });
  const { page } = await browser.open(app.at('cluster'), { locale: 'zh-CN' });
  const health = page.getByRole('region', { name: '健康' });
  await health
    .getByText(/请将 maxmemory-policy 设为 noeviction：allkeys-lru .*请将 appendonly 设为 yes/)
    .waitFor();
});
