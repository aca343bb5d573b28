import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  VersioningType,
  type CallHandler,
  type ExecutionContext,
  type INestApplication,
} from '@nestjs/common';
import { DqProducer } from 'nest-dq';
import { map } from 'rxjs';
import { PLATFORMS, ServedApp } from './served-app.js';

const HOUR = 3_600_000;

describe.each(PLATFORMS)('with %s', (platform) => {
  it.each([
    ['at the root', '', () => undefined],
    ['below a global prefix', '/v/api', (app: INestApplication) => app.setGlobalPrefix('v/api')],
    ['below one with a parameter', '/x', (app: INestApplication) => app.setGlobalPrefix(':tenant')],
    [
      'where routes have versions',
      '',
      (app: INestApplication) => app.enableVersioning({ type: VersioningType.URI, defaultVersion: '7' }),
    ],
  ])('answers %s', async (_, prefix, prepare) => {
    const served = await ServedApp.start({ platform, prepare });
    const session = await served.get(`${prefix}/dq/api/session`);
    expect(session.status).toBe(200);
    expect(session.json).toMatchObject({ version: '0.1.0', prefix: '', payloads: true });
    expect(session.json.acts).toContain('revokeMany');
    const tube = await served.get(`${prefix}/dq/api/tubes/mails`);
    expect(tube.json).toMatchObject({ tube: 'mails' });
  });

  it('an address without / at its end has a page of one script, which its policy names, and no path', async () => {
    const served = await ServedApp.start({ platform, prepare: (app) => app.setGlobalPrefix('api') });
    const { status, text, headers } = await served.get('/api/dq?token=1');
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    const [, script] = /<script>(.*)<\/script>/.exec(text)!;
    const hash = createHash('sha256').update(script!).digest('base64');
    expect(headers.get('content-security-policy')).toContain(`script-src 'sha256-${hash}';`);
    expect(text).not.toContain('/dq');
  });

  it('has its page and the files that the page asks for', async () => {
    const served = await ServedApp.start({ platform });
    const page = await served.get('/dq/');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const asked = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address!);
    expect(asked.toSorted()).toEqual(expect.arrayContaining(['dashboard.css', 'dashboard.js']));
    const types = {
      'dashboard.css': 'text/css',
      'dashboard.js': 'text/javascript',
      'licences.txt': 'text/plain',
    };
    for (const [name, type] of Object.entries(types)) {
      const { status, headers } = await served.get(`/dq/${name}`);
      expect([name, status, headers.get('content-type')]).toEqual([name, 200, `${type}; charset=utf-8`]);
      const again = await served.get(`/dq/${name}`, { 'if-none-match': headers.get('etag')! });
      expect([again.status, again.text]).toEqual([304, '']);
    }
    const pages = asked.filter((address) => address.startsWith('pages/'));
    expect(pages).not.toEqual([]); // the page preloads what its script imports
    for (const name of pages) {
      const { status, headers } = await served.get(`/dq/${name}`);
      expect([name, status, headers.get('content-type')]).toEqual([
        name,
        200,
        'text/javascript; charset=utf-8',
      ]);
      expect(headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
    }
    const absent = ['pages/', 'pages/dashboard.js', 'pages/dead-page-00000000.js', 'pages/..%2fdashboard.js'];
    for (const name of [
      'package.json',
      'index.html',
      '..%2findex.html',
      'constructor',
      'api/nothing',
      ...absent,
    ]) {
      expect([name, (await served.get(`/dq/${name}`)).status]).toEqual([name, 404]);
    }
  });

  it('returns each view of a cluster with jobs', async () => {
    const served = await ServedApp.start({ platform });
    const producer = served.app.get(DqProducer);
    const { ref, id } = await producer.delay('mails', { secret: 'xyzzy' }, '30m');
    await producer.delay('mails', {}, '90m');
    await producer.delay('orders', {}, '150m');
    const from = new Date(Date.now()).toISOString();
    const to = new Date(Date.now() + 4 * HOUR).toISOString();
    const range = `from=${from}&to=${to}`;
    const edgesAt = (...hours: number[]) => {
      const edges = hours.map((each) => new Date(Date.parse(from) + each * HOUR).toISOString());
      return `edges=${edges.join(',')}`;
    };
    const data = async (path: string) => {
      const { status, json, text, headers } = await served.get(`/dq/api/${path}`);
      expect([path, status, headers.get('cache-control')]).toEqual([path, 200, 'no-store']);
      expect(text).not.toContain('xyzzy');
      return json;
    };

    expect(await data('tubes')).toMatchObject({ tubes: [{ tube: 'mails', waiting: 2 }, { tube: 'orders' }] });
    expect(await data('tubes/mails')).toMatchObject({ tube: 'mails', waiting: 2, listed: 2 });
    const page = await data('tubes/mails/jobs?limit=1');
    expect(page).toMatchObject({ jobs: [{ id, ref, state: 'waiting' }], listed: 2 });
    expect(
      (await data(`tubes/mails/jobs?limit=1&cursor=${encodeURIComponent(page.cursor)}`)).jobs,
    ).toHaveLength(1);
    const first = await data('jobs?limit=1');
    expect(first).toMatchObject({ jobs: [{ id, tube: 'mails' }], listed: 3, looked: 1 });
    expect((await data(`jobs?cursor=${encodeURIComponent(first.cursor)}`)).jobs).toHaveLength(2);
    const prefix = `prefix=${id.slice(0, 20)}`;
    expect((await data(`tubes/mails/jobs?${prefix}`)).jobs).toMatchObject([{ id }]);
    expect(await data(`timeline/late?${edgesAt(0, 4)}`)).toEqual([]);
    expect(await data(`tubes/mails/timeline?${edgesAt(0, 1, 2, 3, 4)}`)).toMatchObject([
      { jobs: 1 },
      { jobs: 1 },
      { jobs: 0 },
      { jobs: 0 },
    ]);
    const forecast = `tubes/mails/forecast?${edgesAt(0, 1, 2, 3)}`;
    expect(await data(forecast)).toMatchObject({
      buckets: [{ jobs: 1 }, { jobs: 1 }, { jobs: 0 }],
      late: [],
    });
    const spread = `&dueFrom=${encodeURIComponent(from)}&spread=2h`;
    expect(await data(`${forecast}${spread}`)).toMatchObject({ buckets: { length: 3 } });
    expect(await data(`${forecast}&perMinute=1`)).toMatchObject({ buckets: { length: 3 } });
    const all = await data(`timeline?${edgesAt(0, 4)}`);
    expect(all).toMatchObject({
      tubes: [
        { tube: 'mails', buckets: [{ jobs: 2 }] },
        { tube: 'orders', buckets: [{ jobs: 1 }] },
      ],
      others: 0,
    });
    expect(await data(`history?${range}`)).toBeInstanceOf(Array);
    expect(await data(`history?${range}&minutes=30`)).toBeInstanceOf(Array);
    expect(await data('history/tubes')).toBeInstanceOf(Array);
    expect(await data(`job?ref=${ref}`)).toMatchObject({ id, because: 'not-due', state: 'waiting' });
    expect(await data(`job?tube=mails&id=${id}`)).toMatchObject({ id, because: 'not-due' });
    const found = { jobs: [{ tube: 'mails', id, state: 'waiting' }], searched: 3, tubes: 3 };
    expect(await data(`search?text=${id}`)).toMatchObject(found);
    expect(await data('search?text=no such job')).toMatchObject({ jobs: [], searched: 3 });
    expect(await data(`search?text=${ref}`)).toEqual({ ref });
    const prefixed = { jobs: [{ tube: 'mails', id, state: 'waiting' }], waiting: 2, listed: 2 };
    expect(await data(`search/prefix?prefix=${id}&tubes=mails`)).toMatchObject(prefixed);
    expect(await data('tubes/mails/dead')).toEqual({ letters: [], looked: 0 });
    expect(await data('dead')).toEqual({ letters: [], looked: 0 });
    expect(await data('dead?count=true')).toEqual({
      letters: [],
      looked: 0,
      matching: { letters: 0, more: false },
    });
    expect(await data('dead/groups')).toMatchObject({ groups: [], letters: 0, more: false });
    expect(await data('nodes')).toMatchObject([{ endpoint: 'embedded', up: true }]);
    expect(await data('ledger')).toMatchObject({ kind: 'memory', up: true });
    expect(await data('processes')).toMatchObject([{ pid: process.pid }]);
    expect(await data('series')).toEqual([]);
    expect(await data('health')).toMatchObject({ status: 'up' });
    expect(await data('acts')).toEqual({ acts: [] });
  });

  it('tells the page what the application runs in', async () => {
    const served = await ServedApp.start({ platform, dashboard: { environment: 'production' } });
    const { json } = await served.get('/dq/api/session');
    expect(json.environment).toEqual({ name: 'production', tone: 'danger' });
  });

  it('finds a tube whose name has special characters', async () => {
    const served = await ServedApp.start({ platform });
    const tube = 'a/b;c.$_(d)+-';
    await served.app.get(DqProducer).delay(tube, {}, '1h');
    const answer = await served.get(`/dq/api/tubes/${encodeURIComponent(tube)}/jobs`);
    expect(answer.json).toMatchObject({ jobs: [{ tube }] });
  });

  it('an interceptor for the whole application wraps nothing', async () => {
    const wrap = {
      intercept: (_: ExecutionContext, next: CallHandler) => next.handle().pipe(map((data) => ({ data }))),
    };
    const served = await ServedApp.start({ platform, prepare: (app) => app.useGlobalInterceptors(wrap) });
    expect((await served.get('/dq/api/tubes')).json).toEqual({ tubes: [], more: false, away: [] });
    const paused = await served.post('/dq/api/acts/pause', { tube: 'mails' });
    expect(paused.json).toEqual({ result: { since: expect.any(String), unknown: true } });
  });

  it('answers a wrong query with 400 and the value', async () => {
    const EDGES = '2030-01-01T00:00:00Z,2030-01-02T00:00:00Z';
    const served = await ServedApp.start({ platform });
    const wrong: [path: string, code: string, part: string][] = [
      ['tubes/mails/jobs?state=gone', 'DQ_BAD_OPTION', '`state` is "gone"'],
      ['tubes/mails/jobs?limit=0', 'DQ_BAD_OPTION', '`limit` is 0'],
      ['search/prefix?tubes=mails', 'DQ_BAD_OPTION', '`prefix` in the query is undefined'],
      ['search/prefix?prefix=a&tubes=a,,b', 'DQ_BAD_TUBE', '""'],
      ['tubes/mails/jobs?limit=many', 'DQ_BAD_OPTION', 'is "many"'],
      ['tubes/mails/jobs?from=tomorrow', 'DQ_BAD_TIME', 'is "tomorrow"'],
      ['tubes/mails/jobs?from=2030-01-01', 'DQ_BAD_TIME', 'a time with a time zone'],
      ['tubes/mails/jobs?form=2030-01-01T00:00:00Z', 'DQ_BAD_OPTION', '"form" in the query'],
      ['tubes/mails/jobs?cursor=x&cursor=y', 'DQ_BAD_OPTION', 'is ["x","y"]'],
      ['tubes/mails/timeline', 'DQ_BAD_OPTION', '`edges` in the query is undefined'],
      ['tubes/mails/forecast', 'DQ_BAD_OPTION', '`edges` in the query is undefined'],
      [`tubes/mails/forecast?edges=${EDGES}&spread=soon`, 'DQ_BAD_DURATION', '"soon"'],
      [`tubes/mails/forecast?edges=${EDGES}&dueTo=${EDGES.slice(0, 20)}`, 'DQ_BAD_OPTION', '`spread`'],
      ['timeline?edges=2030-01-01T00:00:00Z', 'DQ_BAD_OPTION', 'an array of 2 to 201 times'],
      ['timeline?edges=2030-01-02T00:00:00Z,2030-01-01T00:00:00Z', 'DQ_BAD_OPTION', '`edges[1]` is'],
      ['timeline?edges=2030-01-02T00:00:00Z,soon', 'DQ_BAD_TIME', 'is "soon"'],
      ['tubes/-mails', 'DQ_BAD_TUBE', '"-mails"'],
      ['job?ref=dq1.x', 'DQ_BAD_REF', 'dq1.x'],
      ['job?id=x', 'DQ_BAD_OPTION', '`tube` in the query is undefined'],
      ['search?text=dq1.x', 'DQ_BAD_REF', 'dq1.x'],
      ['search', 'DQ_BAD_OPTION', '`text` in the query is undefined'],
      ['tubes/mails/dead?why=bored', 'DQ_BAD_OPTION', '"bored"'],
      ['dead?tube=-mails', 'DQ_BAD_TUBE', '"-mails"'],
      ['dead?count=1', 'DQ_BAD_OPTION', '`count` in the query is "1": expected true or false'],
      ['dead/groups?limit=0', 'DQ_BAD_OPTION', '`limit` is 0'],
      ['dead/groups?group=x', 'DQ_BAD_OPTION', '"group" in the query'],
    ];
    for (const [path, code, part] of wrong) {
      const { status, json } = await served.get(`/dq/api/${path}`);
      expect([path, status, json]).toEqual([path, 400, { code, message: expect.stringContaining(part) }]);
    }
  });
});

it('Fastify takes the longest name of a tube with the setting that the documentation names', async () => {
  const fastify = { routerOptions: { maxParamLength: 600 } };
  const served = await ServedApp.start({ platform: 'fastify', fastify });
  const tube = '/'.repeat(200);
  const answer = await served.get(`/dq/api/tubes/${encodeURIComponent(tube)}`);
  expect(answer.json).toMatchObject({ tube });
});
