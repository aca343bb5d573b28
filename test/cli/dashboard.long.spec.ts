import { once } from 'node:events';
import { hostname, userInfo } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { cliSuite, TUBE } from './cluster-suite.js';
import { dashboardProcesses, type DashboardProcess } from './dashboard-process.js';
import { NestDqProcess } from './nest-dq-process.js';

const suite = cliSuite();
const startIn = dashboardProcesses();

function start(...args: string[]): Promise<DashboardProcess> {
  return startWith({}, ...args);
}

function startWith(env: Readonly<Record<string, string>>, ...args: string[]): Promise<DashboardProcess> {
  return startIn({ env: { ...suite.env, ...env }, cwd: suite.folder }, ...args);
}

async function nodesAt(dashboard: DashboardProcess, cookie: string) {
  const { text } = await dashboard.get(dashboard.path('api/nodes'), { cookie });
  return JSON.parse(text) as { readonly endpoint: string; readonly drained: boolean }[];
}

describe('the address of nest-dq dashboard', () => {
  it('leads to the page, and gives a cookie for its token', async () => {
    const dashboard = await start();
    const { pathname, search, port } = dashboard.address;
    expect(dashboard.process.stdout).toMatch(
      /^nest-dq \d+\.\d+\.\d+\S* serves the dashboard to the first browser that opens http:\/\/127\.0\.0\.1:\d+\/\S+\n$/,
    );
    const first = await dashboard.get(pathname + search);
    expect(first).toMatchObject({
      status: 302,
      headers: { location: pathname, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
    });
    const [cookie = ''] = first.headers['set-cookie']!;
    const attributes = `Path=${pathname.replace(/\/$/, '')}; HttpOnly; SameSite=Strict`;
    expect(cookie).toMatch(new RegExp(`^nest-dq-${port}=[\\w-]{43}; ${attributes}$`));
    expect(cookie).not.toContain(dashboard.address.searchParams.get('token'));
    const page = await dashboard.get(pathname, { cookie: cookie.split(';')[0]! });
    expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
  });

  it('works once, and then only in the browser that has the cookie', async () => {
    const dashboard = await start();
    const { pathname, search } = dashboard.address;
    const cookie = await dashboard.open();
    const second = await dashboard.get(pathname + search);
    expect(second).toMatchObject({
      status: 403,
      text: 'This URL works only once, and has been used. Use the browser that opened it, or restart the command for a new URL.\n',
    });
    expect(second.headers['set-cookie']).toBeUndefined();
    expect(await dashboard.get(pathname + search, { cookie })).toMatchObject({
      status: 302,
      headers: { location: pathname },
    });
  });

  it('is not used up by a wrong token, by a program that only looks, and from elsewhere', async () => {
    const dashboard = await start();
    const { pathname, search } = dashboard.address;
    const wrong = await dashboard.get(`${pathname}?token=${'x'.repeat(43)}`);
    expect(wrong.status).toBe(403);
    expect(wrong.text).toContain('The token in this URL is wrong, or from an earlier start: expected');
    expect((await dashboard.get(pathname + search, {}, 'HEAD')).status).toBe(403);
    expect((await dashboard.get(pathname + search, { host: 'rebound.example' })).status).toBe(403);
    expect(await dashboard.open()).toMatch(/^nest-dq-/);
  });

  it('differs at each start', async () => {
    const [one, other] = await Promise.all([start(), start()]);
    const cookie = await one.open();
    expect(one.path()).not.toBe(other.path());
    const value = cookie.slice(cookie.indexOf('='));
    const foreign = { cookie: `nest-dq-${other.address.port}${value}` };
    expect((await other.get(other.path(), foreign)).status).toBe(403);
  });
});

describe('nest-dq dashboard', () => {
  it.each(['', 'x'.repeat(43), undefined])('refuses everything to a client with cookie %p', async (value) => {
    const dashboard = await start();
    await dashboard.open();
    const { port } = dashboard.address;
    const headers: Record<string, string> = value === undefined ? {} : { cookie: `nest-dq-${port}=${value}` };
    const names = ['', 'dashboard.js', 'api/session', 'api/live', 'api/tubes'];
    for (const path of ['/', ...names.map((name) => dashboard.path(name))]) {
      expect(await dashboard.get(path, headers)).toMatchObject({
        status: 403,
        headers: { 'cache-control': 'no-store' },
        text: expect.stringContaining('Open the URL that the command printed'),
      });
    }
    expect((await dashboard.act('pause', { tube: TUBE }, headers)).status).toBe(403);
    expect((await suite.system.inspector.tube(TUBE)).paused).toBeUndefined();
  });

  it('finds its cookie among others, even among those of the same name', async () => {
    const dashboard = await start();
    const cookie = await dashboard.open();
    const all = `a=b; nest-dq-${dashboard.address.port}=of-another-server; ${cookie}; c=d`;
    expect((await dashboard.get(dashboard.path('api/session'), { cookie: all })).status).toBe(200);
  });

  it.each(['rebound.example', 'localhost.example:80', '10.0.0.7'])(
    'refuses a request to the host %s',
    async (host) => {
      const dashboard = await start();
      const cookie = await dashboard.open();
      expect(await dashboard.get(dashboard.path(), { cookie, host })).toMatchObject({
        status: 403,
        text: `The request is for host "${host}": expected 127.0.0.1 or localhost, on the machine that runs the dashboard.\n`,
      });
      const own = `localhost:${dashboard.address.port}`;
      expect((await dashboard.get(dashboard.path(), { cookie, host: own })).status).toBe(200);
    },
  );

  it('refuses an act that another page makes the browser do', async () => {
    const dashboard = await start();
    const cookie = await dashboard.open();
    const site = { 'sec-fetch-site': 'same-site' };
    expect(await dashboard.act('pause', { tube: TUBE }, { cookie, ...site })).toMatchObject({ status: 403 });
    expect((await suite.system.inspector.tube(TUBE)).paused).toBeUndefined();
  });

  it('does an act, and reports who did it', async () => {
    const dashboard = await start();
    const cookie = await dashboard.open();
    expect((await dashboard.act('pause', { tube: TUBE }, { cookie })).status).toBe(200);
    expect((await suite.system.inspector.tube(TUBE)).paused).toBeDefined();
    await suite.system.control.resume(TUBE);
    const pauses = async () =>
      (await suite.system.inspector.acts({ limit: 1_000 })).acts.filter(({ act }) => act === 'pause');
    await eventually('the act is stored', async () => (await pauses()).length > 0);
    const by = `${userInfo().username}@${hostname()}`;
    expect(await pauses()).toMatchObject([{ by, on: { tube: TUBE }, count: 1 }]);
  });

  it('does nothing with --read-only, and shows payloads', async () => {
    await suite.prepare();
    const dashboard = await start('--read-only');
    const cookie = await dashboard.open();
    const session = await dashboard.get(dashboard.path('api/session'), { cookie });
    expect(JSON.parse(session.text)).toMatchObject({ acts: [], payloads: true });
    const ref = { tube: TUBE, key: 'order-42' };
    expect(await dashboard.act('revoke', ref, { cookie })).toMatchObject({
      status: 403,
      text: expect.stringContaining('this viewer may not perform revoke'),
    });
    expect((await suite.system.producer.find(ref))?.state).toBe('waiting');
    const query = new URLSearchParams(ref).toString();
    const payload = await dashboard.get(dashboard.path(`api/job/payload?${query}`), { cookie });
    expect(payload.text).toContain('42');
  });

  it('is no process of the application, and learns what operators of others do', async () => {
    const dashboard = await start();
    const cookie = await dashboard.open();
    const processes = await dashboard.get(dashboard.path('api/processes'), { cookie });
    expect(JSON.parse(processes.text)).toMatchObject([{ id: suite.system.process.id }]);
    const { endpoint } = suite.servers.beanstalkds[0]!;
    const drained = async () =>
      (await nodesAt(dashboard, cookie)).filter((node) => node.drained).map((node) => node.endpoint);
    await suite.system.control.drainNode(endpoint);
    await eventually('it learns of the mark', async () => (await drained()).includes(endpoint));
    expect((await dashboard.act('undrainNode', { node: endpoint }, { cookie })).status).toBe(200);
    await eventually('it learns of its own act', async () => (await drained()).length === 0);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'ends cleanly on %s, with a viewer who listens',
    async (signal) => {
      const dashboard = await start();
      const stream = await dashboard.listen({ cookie: await dashboard.open() });
      await once(stream, 'data');
      dashboard.process.kill(signal);
      stream.resume();
      await once(stream, 'end');
      expect(await dashboard.process.ended).toEqual({ code: 0, signal: null });
      expect(dashboard.process.stderr).toBe('');
    },
  );

  it('listens on the port that it is given, and fails where it is taken', async () => {
    const { port } = (await start()).address;
    const second = new NestDqProcess(['dashboard', '--port', port], { env: suite.env, cwd: suite.folder });
    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.stderr).toBe(
      `nest-dq: cannot listen on 127.0.0.1:${port}: the port is taken (DQ_LISTEN)\n`,
    );
    expect(second.stdout).toBe('');
  });

  it('starts while servers are away, and says which', async () => {
    const away = {
      DQ_BEANSTALKS: `${suite.env['DQ_BEANSTALKS']},127.0.0.1:1`,
      DQ_REDIS: 'redis://127.0.0.1:1',
    };
    const dashboard = await startWith(away);
    const { stderr } = dashboard.process;
    expect(stderr).toMatch(/^nest-dq: 127\.0\.0\.1:1 is not up: .*ECONNREFUSED.*\n/);
    expect(stderr).toMatch(/\nnest-dq: Redis is down; .*: restart this command once Redis is back\n$/);
    const cookie = await dashboard.open();
    expect((await dashboard.get(dashboard.path(), { cookie })).status).toBe(200);
    const processes = await dashboard.get(dashboard.path('api/processes'), { cookie });
    expect(processes).toMatchObject({ status: 503, text: expect.stringContaining('DQ_LEDGER_DOWN') });
    dashboard.process.kill('SIGTERM');
    expect(await dashboard.process.ended).toEqual({ code: 0, signal: null });
  });

  it.each([
    [['--port', '70000'], '--port: invalid value "70000": expected a whole number from 0 to 65535.'],
    [['--port', 'http'], '--port: invalid value "http": expected a whole number from 0 to 65535.'],
    [['--redis', 'http://127.0.0.1'], '`redis` has the scheme http: expected redis://… or rediss://….'],
    [['--beanstalks', 'a:b'], '"a:b"'],
    [['--host', '0.0.0.0'], 'dashboard: unknown option --host.'],
    [['8080'], 'dashboard: unexpected argument 8080.'],
  ])('%j is refused', async (args, message) => {
    const { code, stdout, stderr } = await suite.nestDq(['dashboard', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });
});
