import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { accessibilityFindings, browserSuite } from './browser.js';

const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:";

/** Each file of a small page, and what is wrong with it. */
const FILES: Readonly<Record<string, string>> = {
  '/fine': '<main><h1>Jobs</h1></main><script src="ready.js"></script>',
  '/inline': '<script>document.title = "ran"</script>',
  '/style': '<main style="color: red">Jobs</main>',
  '/throws': '<script src="throws.js"></script>',
  '/complains': '<script src="complains.js"></script>',
  '/asks': '<script src="asks.js"></script>',
  '/unlabelled': '<main><h1>Jobs</h1><button></button></main>',
  '/ready.js': 'document.title = "ready"',
  '/throws.js': 'throw new Error("broken")',
  '/complains.js': 'console.error("a complaint")',
  '/asks.js': 'fetch("absent")',
};

let server: Server;
let at: string;
beforeAll(async () => {
  server = createServer(({ url }, response) => {
    const body = FILES[url!];
    response.writeHead(body === undefined ? 404 : 200, {
      'content-type': url!.endsWith('.js') ? 'text/javascript' : 'text/html',
      'content-security-policy': POLICY,
    });
    response.end(url!.endsWith('.js') ? body : `<!doctype html><html lang="en"><title>T</title>${body}`);
  });
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

describe('a page of the tests', () => {
  const browser = browserSuite();

  it('has no problem where none is', async () => {
    const { page, problems } = await browser.open(`${at}/fine`);
    await eventually('its script has run', async () => (await page.title()) === 'ready');
    expect(problems.seen).toEqual([]);
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it.each([
    ['/inline', /Content Security Policy/],
    ['/style', /Content Security Policy/],
    ['/throws', /thrown: Error: broken/],
    ['/complains', /a complaint/],
    ['/asks', /answered 404: GET .*absent/],
  ])('reports what is wrong with %s', async (path, problem) => {
    const { problems } = await browser.open(at + path);
    await eventually('the problem is seen', () => problems.seen.some((seen) => problem.test(seen)));
    problems.expect(/./);
    expect(problems.seen).toEqual([]);
  });

  it('reports a server that does not answer', async () => {
    const { page, problems } = await browser.open(`${at}/fine`);
    await page.evaluate(() => fetch('http://127.0.0.1:1/').catch(() => undefined));
    await eventually('the problem is seen', () => problems.seen.length > 0);
    problems.expect(/./);
  });

  it('has findings of axe where there are', async () => {
    const { page } = await browser.open(`${at}/unlabelled`);
    expect(await accessibilityFindings(page)).toEqual([
      { rule: 'button-name', where: '<button></button>', why: expect.any(String) },
    ]);
  });
});
