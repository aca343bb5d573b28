import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { act, actOnMany, getData, inPath, RequestError, within } from './requests.js';

const fetched: { address: string; options: RequestInit }[] = [];
const realFetch = globalThis.fetch;

function answer(body: string, status = 200): void {
  fetched.length = 0;
  globalThis.fetch = (address, options = {}) => {
    fetched.push({ address: address as string, options });
    return Promise.resolve(new Response(body, { status }));
  };
}

beforeAll(() => {
  globalThis.location = new URL('http://operator:secret@host/ops/dq/?x#/tubes') as unknown as Location;
});

afterEach(() => {
  globalThis.fetch = realFetch;
});

afterAll(() => {
  Reflect.deleteProperty(globalThis, 'location');
});

describe('getData', () => {
  it('asks relative to the page without its credentials, and leaves out missing parameters', async () => {
    answer('[1]');
    const path = `tubes/${inPath('a/b;c')}/jobs`;
    expect(await getData(path, { state: undefined, from: '', limit: 5, to: 'a&b' })).toEqual([1]);
    expect(fetched[0]!.address).toBe('http://host/ops/dq/api/tubes/a%2Fb%3Bc/jobs?limit=5&to=a%26b');
  });

  it('throws what the server refuses, and shows the code once', async () => {
    answer('{"code":"DQ_BAD_TIME","message":"DQ_BAD_TIME: no time"}', 400);
    await expect(getData('x')).rejects.toMatchObject({ code: 'DQ_BAD_TIME', message: 'no time' });
  });

  it('throws what a guard or a proxy answers in its own words', async () => {
    answer('<h1>Bad Gateway</h1>', 502);
    await expect(getData('x')).rejects.toMatchObject({ code: 'HTTP 502', message: '<h1>Bad Gateway</h1>' });
    answer('{"statusCode":403,"message":"Forbidden resource"}', 403);
    await expect(getData('x')).rejects.toMatchObject({ code: 'HTTP 403', message: 'Forbidden resource' });
  });

  it('does not wait for an answer beyond its limit', async () => {
    globalThis.fetch = (_address, { signal } = {}) =>
      new Promise((_, reject) =>
        signal!.addEventListener('abort', () => reject(signal!.reason as Error), { once: true }),
      );
    const ask = (signal: AbortSignal) => getData('x', {}, signal);
    await expect(within(1, new AbortController().signal, ask)).rejects.toMatchObject({ code: 'NO_ANSWER' });
    const left = new AbortController();
    const asked = within(60_000, left.signal, ask);
    left.abort(new Error('left'));
    await expect(asked).rejects.toThrow('left');
  });

  it('says that there was no answer', async () => {
    globalThis.fetch = () => Promise.reject(new TypeError('Failed to fetch'));
    const error = await getData('x').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ code: 'NO_ANSWER', message: 'Failed to fetch' });
  });
});

describe('act', () => {
  it('posts JSON with the header that other sites cannot send', async () => {
    answer('{"result":"revoked"}');
    expect(await act('revoke', { ref: 'dq1.x' })).toBe('revoked');
    const { address, options } = fetched[0]!;
    expect(address).toBe('http://host/ops/dq/api/acts/revoke');
    expect(options).toMatchObject({
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Nest-Dq': '1' },
      body: '{"ref":"dq1.x"}',
    });
  });
});

describe('actOnMany', () => {
  const progress = (done: number) => ({ done, failed: 0, skipped: 0, failures: [], examples: [] });
  const lines = (...told: object[]) => told.map((each) => `${JSON.stringify(each)}\n`).join('');
  const bulk = { name: 'revokeMany', body: { tube: 't', filter: {} } } as const;
  const run = async () => {
    const dones: number[] = [];
    try {
      for await (const { done } of actOnMany(bulk, { dryRun: true }, new AbortController().signal))
        dones.push(done);
      return { dones };
    } catch (error) {
      return { dones, code: (error as RequestError).code };
    }
  };

  it('reports the progress until the end', async () => {
    answer(lines({ progress: progress(128) }, { progress: progress(130) }, { end: true }));
    expect(await run()).toEqual({ dones: [128, 130] });
    expect(fetched[0]!.options.body).toBe('{"tube":"t","filter":{},"dryRun":true}');
  });

  it('throws the error that ended it', async () => {
    answer(lines({ progress: progress(128) }, { error: { code: 'DQ_LEDGER_DOWN', message: 'no answer' } }));
    expect(await run()).toEqual({ dones: [128], code: 'DQ_LEDGER_DOWN' });
  });

  it('does not take a broken connection for the end', async () => {
    answer(lines({ progress: progress(128) }));
    expect(await run()).toEqual({ dones: [128], code: 'NO_ANSWER' });
  });
});
