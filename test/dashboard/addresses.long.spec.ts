import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { UnauthorizedException } from '@nestjs/common';
import { eventually } from 'test-servers';
import { browserSuite } from './browser.js';
import { dashboardApps, ORDERS } from './dashboard-app.js';

const browser = browserSuite();
const start = dashboardApps();

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A proxy that serves what is below `to` of an origin below `from`. Resolves with its own origin. */
async function proxy(origin: string, from: string, to: string): Promise<string> {
  const server = createServer((given, answer) => {
    if (!given.url!.startsWith(from)) return void answer.writeHead(404).end();
    const url = new URL(to + given.url!.slice(from.length), origin);
    const headers = { ...given.headers, host: url.host };
    given.pipe(
      request(url, { method: given.method, headers }, (from) => {
        answer.writeHead(from.statusCode!, from.headers);
        from.pipe(answer);
      }),
    );
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('is behind a proxy that gives it another name, without / at the end of the address', async () => {
  const app = await start({ dashboard: { access: () => 'read' } });
  const origin = await proxy(new URL(app.url).origin, '/ops/queue', '/dq');
  const { page } = await browser.open(`${origin}/ops/queue?x=1#/tubes`);
  await page.getByRole('heading', { name: 'Tubes' }).waitFor();
  await page
    .getByRole('status')
    .filter({ hasText: /Live|All well/ })
    .waitFor();
  expect(page.url()).toBe(`${origin}/ops/queue/?x=1#/tubes`);
});

it('is live at an address with a name and a password', async () => {
  const admitted = `Basic ${Buffer.from('ann:secret').toString('base64')}`;
  const guard: CanActivate = {
    canActivate: (context: ExecutionContext) => {
      const http = context.switchToHttp();
      if (http.getRequest<{ headers: Record<string, string> }>().headers['authorization'] === admitted)
        return true;
      http
        .getResponse<{ setHeader(name: string, value: string): void }>()
        .setHeader('WWW-Authenticate', 'Basic');
      throw new UnauthorizedException();
    },
  };
  const app = await start({ dashboard: { guards: [guard] } });
  await app.producer.delay(ORDERS, {}, '1h');
  const { page, problems } = await browser.open('about:blank');
  problems.expect(/401/); // the first request asks whether a password is needed
  await page.goto(app.at('tubes').replace('//', '//ann:secret@'));
  await page
    .getByRole('status')
    .filter({ hasText: /Live|All well/ })
    .waitFor();
  await page.getByRole('main').getByRole('link', { name: ORDERS }).waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'History' }).click();
  await page.getByRole('heading', { name: 'History' }).waitFor();
  await page.getByText('Table view').waitFor();
});

it('tells nothing more soon after the guard refuses its viewer', async () => {
  let isAdmitted = true;
  const app = await start({ dashboard: { guards: [{ canActivate: () => isAdmitted }] } });
  const { page, problems } = await browser.open(app.at('tubes'));
  const states: string[] = [];
  const live = page.getByRole('status').filter({ hasText: /Live|All well/ });
  await live.waitFor();
  page.on('request', (asked) => asked.url().endsWith('/api/live') && states.push(asked.url()));
  await eventually('it has asked again', () => states.length > 0, 30_000);
  expect(await live.isVisible()).toBe(true);
  problems.expect(/403/);
  isAdmitted = false;
  await live.waitFor({ state: 'hidden', timeout: 30_000 });
}, 90_000);

it('a key that is read from right to left does not turn around what is next to it', async () => {
  const app = await start();
  await app.producer.delay(ORDERS, {}, '1h', { key: 'הזמנה-42' });
  const { page } = await browser.open(app.at('waiting', { tube: ORDERS }));
  const link = page.getByRole('link', { name: 'הזמנה-42' });
  await link.waitFor();
  const bidi = await link.evaluate((element) => (globalThis as any).getComputedStyle(element).unicodeBidi);
  expect(bidi).toBe('plaintext');
});
