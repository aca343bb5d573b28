// The documentation site as a reader's browser shows it. `npm run site` builds it, and fails on dead links and anchors.
import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from 'test-servers/browser';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'site', '.vitepress', 'dist');
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};
/** In ms: a safety net. typedoc and VitePress need a minute on an idle machine. */
const LIMIT = 600_000;

let server: Server;
let browser: Browser;
let page: Page;
let home: string;
/** Requests of pages to other origins. */
const foreign: string[] = [];
const problems: string[] = [];

beforeAll(async () => {
  await promisify(execFile)('npm', ['run', 'site'], { cwd: ROOT, maxBuffer: 2 ** 26 });
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://site');
    const file = decodeURI(pathname).replace(/\/$/, '/index.html');
    readFile(join(DIST, file)).then(
      (body) =>
        response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream').end(body),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  home = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  browser = await launchBrowser();
}, LIMIT);

afterAll(async () => {
  await browser.close();
  server.close();
});

beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' });
  page.on('request', (request) => {
    if (!request.url().startsWith(home) && !request.url().startsWith('data:')) foreign.push(request.url());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('response', (response) => {
    if (response.status() >= 400 && !response.url().endsWith('/favicon.ico')) problems.push(response.url());
  });
});

afterEach(async () => {
  await page.close();
  expect({ foreign, problems }).toEqual({ foreign: [], problems: [] });
});

it('says on the first screen what it is, and shows the first program', async () => {
  await page.goto(home);
  const heading = page.getByRole('heading', { level: 1 });
  await heading.waitFor();
  expect(await heading.innerText()).toContain('nest-dq');
  const program = page.locator('pre code').filter({ hasText: '@DelayedHandler' }).first();
  await program.waitFor();
  const { y } = (await program.boundingBox())!;
  expect(y).toBeLessThan(800);
});

it('finds a page by a word', async () => {
  await page.goto(home);
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('searchbox').fill('revoke');
  await page.locator('.result', { hasText: 'Revoke' }).first().waitFor();
  const links = page.locator('a.result');
  const found = await links.evaluateAll((all) =>
    all.map((link) => (link as unknown as { href: string }).href),
  );
  expect(found.some((href) => href.includes('/docs/scheduling'))).toBe(true);
});

it('is dark on request', async () => {
  await page.goto(home);
  const background = () =>
    page.evaluate(`getComputedStyle(document.body).backgroundColor`) as Promise<string>;
  expect(await background()).toBe('rgb(255, 255, 255)');
  await page.locator('.VPSwitchAppearance').first().click();
  await page.locator('html.dark').waitFor();
  expect(await background()).not.toBe('rgb(255, 255, 255)');
});

it('leads from the start page to the Chinese one', async () => {
  await page.goto(home);
  await page.getByRole('button', { name: 'Change language' }).hover();
  await page.getByRole('link', { name: '简体中文' }).first().click();
  await page.waitForURL(`${home}zh/`);
  expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');
  await page.getByRole('button', { name: '搜索' }).click();
  await page.getByRole('searchbox').fill('beanstalkd');
  await page.locator('.result').first().waitFor();
});

it('has the reference of every package with an API for applications', async () => {
  await page.goto(home);
  const menu = page.locator('.VPFlyout', { has: page.getByRole('button', { name: 'Reference' }) });
  await menu.hover();
  // The title of the page is a link of the same name.
  await menu.getByRole('link', { name: 'nest-dq', exact: true }).click();
  await page.waitForURL(`${home}reference/index.html`);
  expect(await page.title()).toContain('nest-dq');
  for (const name of ['nest-kq', 'nest-handlers']) {
    await page.goto(`${home}reference/${name}/index.html`);
    expect(await page.title()).toContain(name);
  }
});

it('fits a phone: tables scroll, the page does not', async () => {
  await page.setViewportSize({ width: 390, height: 800 });
  for (const path of ['', 'docs/options.html', 'docs/errors.html']) {
    await page.goto(`${home}${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  }
});
