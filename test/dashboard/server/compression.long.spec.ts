import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import { DqProducer } from 'nest-dq';
import { DqControl, type BulkProgress } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { PLATFORMS, ServedApp, type Platform } from './served-app.js';

const compression = createRequire(import.meta.url)('compression');

/** An application that compresses whatever it may, as small as it is. */
function compressed(platform: Platform): Promise<ServedApp> {
  return ServedApp.start({
    platform,
    prepare: (app) => app.use(compression({ threshold: 0, filter: () => true })),
  });
}

/** An open answer, and what was read of it so far. */
interface Answering {
  readonly headers: IncomingHttpHeaders;
  readonly read: string;
  /** The viewer leaves. */
  leave(): void;
}

/** Asks as a browser does. */
async function ask(served: ServedApp, path: string, body?: object): Promise<Answering> {
  const headers = {
    'accept-encoding': 'gzip, deflate, br',
    'content-type': 'application/json',
    'x-nest-dq': '1',
    'sec-fetch-site': 'same-origin',
  };
  const method = body ? 'POST' : 'GET';
  const request = httpRequest(served.origin + path, { method, headers, agent: false });
  request.end(body && JSON.stringify(body));
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  const answering = { headers: answer.headers, read: '', leave: () => answer.destroy() };
  answer.setEncoding('utf8').on('data', (text: string) => (answering.read += text));
  return answering;
}

/** Reads on until all that came has the text, and resolves with it. */
async function until(answer: Answering, text: string): Promise<string> {
  await eventually(`${text} was read`, () => answer.read.includes(text));
  return answer.read;
}

describe.each(PLATFORMS)('compression with %s', (platform) => {
  it('compresses the page', async () => {
    const served = await compressed(platform);
    const answer = await ask(served, '/dq/dashboard.js');
    expect(answer.headers['content-encoding']).toMatch(/gzip|br/);
    answer.leave();
  });

  it('does not hold back the live states', async () => {
    const served = await compressed(platform);
    const answer = await ask(served, '/dq/api/live');
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(await until(answer, '"tubes":[]')).toMatch(/^retry: /);
    await served.app.get(DqProducer).delay('orders', {}, '1h');
    await until(answer, '"tube":"orders"'); // while the answer is open
    answer.leave();
  });

  it('does not hold back the lines of a bulk act', async () => {
    const served = await compressed(platform);
    let goOn!: () => void;
    const seen = new Promise<void>((resolve) => (goOn = resolve));
    async function* twoPages(): AsyncGenerator<BulkProgress<never>, void, undefined> {
      const page = { failed: 0, skipped: 0, failures: [], examples: [] };
      yield { done: 128, ...page };
      await seen; // the next page comes only after the line of this one was read
      yield { done: 130, ...page };
    }
    served.app.get(DqControl).revokeMany = twoPages;
    const answer = await ask(served, '/dq/api/acts/revokeMany', { tube: 'orders', filter: {} });
    expect(await until(answer, '\n')).toContain('"done":128');
    goOn();
    expect(await until(answer, '{"end":true}\n')).toContain('"done":130');
    answer.leave();
  });
});
