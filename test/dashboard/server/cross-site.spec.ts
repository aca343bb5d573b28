import { describe, expect, it } from '@jest/globals';
import { DqInspector } from 'nest-dq/operate';
import { PLATFORMS, ServedApp } from './served-app.js';

const PAUSE = '/dq/api/acts/pause';

describe.each(PLATFORMS)('with %s', (platform) => {
  it('an act that another site could post is refused, and the answer shows the header', async () => {
    // Without `access`, a foreign origin is refused before that, like all that comes from elsewhere.
    const access = () => ({ acts: 'all', payloads: true }) as const;
    const served = await ServedApp.start({ platform, dashboard: { access } });
    const host = new URL(served.origin).host;
    const refused: [headers: Record<string, string>, part: string][] = [
      [{ 'x-nest-dq': '' }, 'the header X-Nest-Dq is undefined'],
      [{ 'sec-fetch-site': 'cross-site' }, 'the header Sec-Fetch-Site is "cross-site"'],
      [{ 'sec-fetch-site': 'same-site' }, 'Sec-Fetch-Site is "same-site"'],
      [{ 'sec-fetch-site': 'none' }, 'Sec-Fetch-Site is "none"'],
      [{ 'sec-fetch-site': '' }, 'the header Origin is undefined'],
      [{ 'sec-fetch-site': '', origin: 'http://evil.example' }, 'Origin is "http://evil.example"'],
      [{ 'sec-fetch-site': '', origin: 'null' }, 'Origin is "null"'],
      [{ 'sec-fetch-site': '', origin: `http://${host}.evil.example` }, 'evil.example'],
    ];
    for (const [headers, part] of refused) {
      const { status, json } = await served.post(PAUSE, { tube: 'mails' }, headers);
      expect([headers, status, json]).toEqual([
        headers,
        403,
        { code: 'CROSS_SITE', message: expect.stringContaining(part) },
      ]);
    }
    expect((await served.app.get(DqInspector).tube('mails')).paused).toBeUndefined();
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'text/plain; application/json'])(
    'what a form can post is refused: %s',
    async (type) => {
      const served = await ServedApp.start({ platform });
      const answer = await served.post(PAUSE, '{"tube":"mails"}', { 'content-type': type });
      // Fastify itself takes no body of a type that it does not know.
      expect(platform === 'fastify' ? [403, 415] : [403]).toContain(answer.status);
      expect((await served.app.get(DqInspector).tube('mails')).paused).toBeUndefined();
    },
  );

  it('a browser that sends only the origin may act from the same host', async () => {
    const served = await ServedApp.start({ platform });
    const headers = { 'sec-fetch-site': '', origin: served.origin };
    expect((await served.post(PAUSE, { tube: 'mails' }, headers)).status).toBe(200);
    const type = { 'content-type': 'application/json; charset=utf-8' };
    expect((await served.post(PAUSE, { tube: 'mails' }, type)).status).toBe(200);
  });

  it('another site gets no data, and a person who opens its address does', async () => {
    const served = await ServedApp.start({ platform });
    for (const path of ['/dq/api/tubes', '/dq/api/session', '/dq/api/live']) {
      const { status, json } = await served.get(path, { 'sec-fetch-site': 'cross-site' });
      expect([path, status, json.code]).toEqual([path, 403, 'CROSS_SITE']);
    }
    expect((await served.get('/dq/api/tubes', { 'sec-fetch-site': 'none' })).status).toBe(200);
  });

  it('each answer forbids what the page does not need', async () => {
    const served = await ServedApp.start({ platform });
    for (const path of ['/dq/', '/dq/dashboard.js', '/dq/api/tubes', '/dq/api/tubes/-']) {
      const { headers } = await served.get(path);
      const policy = headers.get('content-security-policy')!.split('; ');
      expect(policy).toEqual(
        expect.arrayContaining(["default-src 'none'", "script-src 'self'", "frame-ancestors 'self'"]),
      );
      expect(policy.join()).not.toContain('unsafe');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('same-origin');
    }
  });
});
