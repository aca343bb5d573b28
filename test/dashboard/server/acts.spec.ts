import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { DelayedHandler, DqProducer, DqSeries } from 'nest-dq';
import { DqControl, DqInspector, type BulkProgress } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { PLATFORMS, ServedApp } from './served-app.js';

@Injectable()
class Mails {
  @DelayedHandler('mails', { attempts: 1 })
  send(): void {
    throw new Error('no <b>server</b>');
  }
}

/** An app with `count` dead letters. */
async function withDead(platform: (typeof PLATFORMS)[number], count: number): Promise<ServedApp> {
  const served = await ServedApp.start({ platform, providers: [Mails] });
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      served.app.get(DqProducer).now('mails', { secret: `xyzzy-${i}` }),
    ),
  );
  const inspector = served.app.get(DqInspector);
  await eventually('the jobs are dead', async () => (await inspector.tube('mails')).dead === count);
  return served;
}

async function linesOf(response: Response): Promise<any[]> {
  const text = await response.text();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe.each(PLATFORMS)('with %s', (platform) => {
  it('does each act on one thing', async () => {
    const served = await ServedApp.start({ platform });
    const producer = served.app.get(DqProducer);
    const act = async (name: string, body: object) => {
      const { status, json } = await served.post(`/dq/api/acts/${name}`, body);
      expect([name, status, json]).toEqual([name, 200, { result: expect.anything() }]);
      return json.result;
    };
    const until = new Date(Date.now() + 60_000).toISOString();
    expect(await act('pause', { tube: 'orders', until })).toMatchObject({ until });
    expect(await act('resume', { tube: 'orders' })).toMatchObject({ ended: { until } });
    expect(await act('resume', { tube: 'orders' })).toEqual({ unknown: true });

    const { ref } = await producer.delay('orders', {}, '1h');
    expect(await act('resume', { tube: 'orders' })).toEqual({});
    const at = new Date(Date.now() + 7_200_000).toISOString();
    expect(await act('reschedule', { ref, at })).toBe('rescheduled');
    expect((await producer.find(ref))?.dueAt.toISOString()).toBe(at);
    expect(await act('reschedule', { ref, delay: '30m' })).toBe('rescheduled');
    await producer.delay('orders', {}, '1h', { key: 'k' });
    expect(await act('runNow', { tube: 'orders', key: 'k' })).toBe('rescheduled');
    await producer.delay('orders', { total: 1 }, '1h', { key: 'edited' });
    expect(await act('runEdited', { tube: 'orders', key: 'edited', payload: { total: 2 } })).toBe(
      'rescheduled',
    );
    const { id } = await producer.delay('orders', {}, '1h');
    expect(await act('revoke', { tube: 'orders', id })).toBe('revoked');
    const { id: retried } = await producer.delay('orders', {}, '1h');
    expect(await act('abort', { tube: 'orders', id: retried })).toBe('revoked');
    expect(await act('drainNode', { node: 'embedded' })).toBe(true);
    expect(await act('undrainNode', { node: 'embedded' })).toBe(true);
    await served.app.get(DqSeries).upsert('acme', { tube: 'orders', every: '1h', payload: { total: 1 } });
    expect(await act('skipSeries', { series: 'acme' })).toBe('skipped');
    const listed = await served.get('/dq/api/series/planned?prefix=a&limit=1');
    expect(listed.json).toMatchObject({ total: 1, series: [{ name: 'acme', plan: 'every 1h' }] });
    expect(listed.text).not.toContain('payload');
    expect(await act('runNow', { tube: 'orders', key: 'series:acme' })).toBe('rescheduled');
    expect(await act('removeSeries', { series: 'acme' })).toBe(true);
    expect(await act('removeSeries', { series: 'acme' })).toBe(false);
    expect(await act('skipSeries', { series: 'acme' })).toBe('unknown');
  });

  it('answers a wrong body with 400 and the value, and does nothing', async () => {
    const served = await ServedApp.start({ platform });
    await served.app.get(DqProducer).delay('orders', {}, '1h');
    const wrong: [act: string, body: unknown, part: string][] = [
      ['pause', {}, '`tube` in the body is undefined'],
      ['pause', { tube: 'a b' }, '"a b"'],
      ['pause', { tube: ['orders'] }, 'is ["orders"]'],
      ['pause', { tube: 'orders', until: 'soon' }, 'is "soon"'],
      ['pause', { tube: 'orders', until: '2020-01-01T00:00:00Z' }, '2020-01-01'],
      ['pause', { tube: 'orders', by: 'somebody else' }, 'unknown "by" in the body'],
      ['pause', [], 'the body is []'],
      ['reschedule', { tube: 'orders', id: 'x' }, 'expected either `at` or `delay`'],
      ['reschedule', { tube: 'orders', id: 'x', delay: 'a while' }, '"a while"'],
      ['revoke', { ref: 'nothing' }, '"nothing"'],
      ['drainNode', { node: 'elsewhere:1' }, '"elsewhere:1"'],
      ['removeSeries', {}, '`series` in the body is undefined'],
      ['skipSeries', { series: '' }, '`series` in the body is ""'],
      ['revokeMany', { tube: 'orders' }, '`filter` in the body is undefined'],
      ['revokeMany', { tube: 'orders', filter: { dueFrm: '2030-01-01T00:00:00Z' } }, '"dueFrm"'],
      ['revokeMany', { tube: 'orders', filter: { state: 'due' } }, '`state` is "due"'],
      ['revokeMany', { tube: 'orders', filter: {}, dryRun: 'no' }, '`dryRun` in the body is "no"'],
      ['revokeMany', { tube: 'orders', filter: {}, cursor: 'x' }, '"x"'],
      ['rescheduleMany', { tube: 'orders', filter: {}, when: {} }, '`when` must have exactly one field'],
      ['rescheduleMany', { tube: 'orders', filter: {}, when: { at: 'never' } }, '"never"'],
      ['rescheduleMany', { tube: 'orders', filter: {}, when: { spread: 'x' } }, '"x"'],
      ['rescheduleMany', { tube: 'orders', filter: {}, when: { perMinute: 0 } }, '`perMinute` is 0'],
      ['resumeGradually', { tube: 'orders' }, '`perMinute` in the body is undefined'],
      ['resumeGradually', { tube: 'orders', perMinute: 'x' }, '"x"'],
      ['discardMany', { tube: 'orders', filter: { why: 'bored' } }, '"bored"'],
      ['repair', { node: 'elsewhere:1' }, '"elsewhere:1"'],
    ];
    for (const [act, body, part] of wrong) {
      const { status, json } = await served.post(`/dq/api/acts/${act}`, body);
      expect([act, body, status, json.message]).toEqual([act, body, 400, expect.stringContaining(part)]);
    }
    const unknown = await served.post('/dq/api/acts/constructor', {});
    expect([unknown.status, unknown.json.code]).toEqual([404, 'NOT_FOUND']);
    expect(await served.app.get(DqInspector).tube('orders')).toMatchObject({ waiting: 1 });
  });

  it('reports the progress of a bulk act line by line, after a dry run that changes nothing', async () => {
    const served = await ServedApp.start({ platform });
    const jobs = Array.from({ length: 300 }, () => ({ payload: {}, delay: '1h' as const }));
    for (const job of jobs) await served.app.get(DqProducer).delay('orders', job.payload, job.delay);
    const body = { tube: 'orders', filter: { limit: 290 } };
    const dry = await served.begin('/dq/api/acts/revokeMany', { ...body, dryRun: true });
    expect(dry.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect((await linesOf(dry)).slice(-2)).toMatchObject([
      { progress: { done: 290, failed: 0, failures: [], examples: { length: 10 } } },
      { end: true },
    ]);
    expect(await served.app.get(DqInspector).tube('orders')).toMatchObject({ waiting: 300 });
    const lines = await linesOf(await served.begin('/dq/api/acts/revokeMany', body));
    expect(lines.map(({ progress, end }) => progress?.done ?? end)).toEqual([0, 128, 256, 290, true]);
    expect(await served.app.get(DqInspector).tube('orders')).toMatchObject({ waiting: 10 });
  });

  it('shows how a spread will be, and resumes a tube gradually', async () => {
    const served = await ServedApp.start({ platform });
    const producer = served.app.get(DqProducer);
    const at = new Date(Date.now() + 3_600_000);
    for (let i = 0; i < 4; i++) await producer.at('orders', {}, at);
    const spread = { tube: 'orders', filter: {}, when: { spread: '20m' }, dryRun: true };
    const [dry] = await linesOf(await served.begin('/dq/api/acts/rescheduleMany', spread));
    const to = new Date(at.getTime() + 15 * 60_000).toISOString();
    expect(dry).toMatchObject({ progress: { done: 4, spread: { from: at.toISOString(), to } } });
    await served.post('/dq/api/acts/pause', { tube: 'held' });
    for (let i = 0; i < 3; i++) await producer.now('held', {});
    const resume = { tube: 'held', perMinute: 1 };
    const lines = await linesOf(await served.begin('/dq/api/acts/resumeGradually', resume));
    expect(lines.slice(-2)).toMatchObject([{ progress: { done: 3 } }, { end: true }]);
    expect((await served.post('/dq/api/acts/resume', { tube: 'held' })).json).toEqual({ result: {} });
  });

  it('lists dead letters by filter and page without payloads, and revives and discards them', async () => {
    const served = await withDead(platform, 5);
    const dead = '/dq/api/tubes/mails/dead';
    const page = await served.get(`${dead}?limit=2&why=attempts`);
    expect(page.text).not.toContain('xyzzy');
    expect(page.json).toMatchObject({
      letters: [{ why: 'attempts', error: { message: 'no <b>server</b>' } }, { attempt: 1 }],
      cursor: expect.any(String),
    });
    const rest = await served.get(`${dead}?limit=5&cursor=${encodeURIComponent(page.json.cursor)}`);
    expect(rest.json).toMatchObject({ letters: { length: 3 } });
    expect((await served.get(`${dead}?error=nobody`)).json.letters).toEqual([]);
    const counted = await served.get(`${dead}?error=NO <b>S&limit=1&count=true&brief=true`);
    expect(counted.json).toMatchObject({ letters: { length: 1 }, matching: { letters: 5, more: false } });
    const all = await served.get('/dq/api/dead?limit=2');
    expect(all.json.letters.map(({ id, tube }: { id: string; tube: string }) => [id, tube])).toEqual(
      page.json.letters.map(({ id }: { id: string }) => [id, 'mails']),
    );
    expect(all.text).not.toContain('xyzzy');
    const groups = await served.get('/dq/api/dead/groups');
    expect(groups.json).toMatchObject({
      groups: [{ group: 'Error: no <b>server</b>', letters: 5, tubes: [{ tube: 'mails', letters: 5 }] }],
      letters: 5,
      more: false,
    });
    expect(groups.text).not.toContain('xyzzy');
    const inGroup = await served.get(`/dq/api/dead?group=${encodeURIComponent('Error: no <b>server</b>')}`);
    expect(inGroup.json).toMatchObject({ letters: { length: 5 } });
    expect((await served.get('/dq/api/dead?tube=mails&group=Error')).json).toEqual({
      letters: [],
      looked: 5,
    });
    expect((await served.get(`${dead}?diedFrom=2100-01-01T00:00:00Z`)).json).toEqual({
      letters: [],
      looked: 0,
    });

    const [first, second] = page.json.letters;
    const explained = await served.get(`/dq/api/job?ref=${first.ref}`);
    expect(explained.json).toMatchObject({ because: 'dead', deadLetter: { id: first.id } });
    expect(explained.text).not.toContain('xyzzy');
    const payload = await served.get(`${dead}/${first.id}/payload`);
    expect(payload.json).toEqual({ payload: { secret: expect.stringMatching(/^xyzzy-\d$/) } });
    const discard = await served.post('/dq/api/acts/discard', { ref: first.ref });
    expect(discard.json).toEqual({ result: 'discarded' });
    await served.post('/dq/api/acts/pause', { tube: 'mails' });
    const revive = await served.post('/dq/api/acts/revive', { tube: 'mails', id: second.id });
    expect(revive.json).toEqual({ result: 'revived' });
    const lines = await linesOf(
      await served.begin('/dq/api/acts/reviveMany', { tube: 'mails', filter: {}, delay: '1h', dryRun: true }),
    );
    expect(lines).toMatchObject([{ progress: { done: 3, examples: { length: 3 } } }, { end: true }]);
    expect(JSON.stringify(lines)).not.toContain('xyzzy');
    const discarded = await served.begin('/dq/api/acts/discardMany', { tube: 'mails', filter: {} });
    expect(await linesOf(discarded)).toMatchObject([
      { progress: { done: 0 } },
      { progress: { done: 3 } },
      { end: true },
    ]);
    expect((await served.get(dead)).json).toEqual({ letters: [], looked: 0 });
  });

  it('ends a bulk act after its page when its viewer goes away', async () => {
    const served = await ServedApp.start({ platform });
    const control = served.app.get(DqControl);
    let ended!: () => void;
    const end = new Promise<void>((resolve) => (ended = resolve));
    async function* endless(): AsyncGenerator<BulkProgress<never>, void, undefined> {
      try {
        for (let done = 0; ; done++) {
          yield { done, failed: 0, skipped: 0, failures: [], examples: [] };
          await new Promise(setImmediate); // others get their turn, as with servers
        }
      } finally {
        ended();
      }
    }
    control.revokeMany = endless;
    // `fetch` would open another connection, and leave it open without a request.
    const headers = { 'content-type': 'application/json', 'x-nest-dq': '1', 'sec-fetch-site': 'same-origin' };
    const options = { method: 'POST', headers, agent: false } as const;
    const request = httpRequest(`${served.origin}/dq/api/acts/revokeMany`, options);
    request.end(JSON.stringify({ tube: 'orders', filter: {} }));
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    const [line] = (await once(answer, 'data')) as [Buffer];
    expect(line.toString()).toMatch(/^{"progress":{"done":0,/);
    answer.destroy();
    await end;
  });
});

it('says what is missing where the application reads no bodies', async () => {
  const served = await ServedApp.start({ bodyParser: false });
  const { status, json } = await served.post('/dq/api/acts/pause', { tube: 'orders' });
  expect([status, json]).toEqual([
    400,
    { code: 'NO_BODY', message: expect.stringMatching(/`bodyParser: false`.*`express\.json\(\)`/) },
  ]);
});
