import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { dashboardProcesses } from '../cli/dashboard-process.js';
import { NestDqProcess, type Settings } from '../cli/nest-dq-process.js';
import { BareFolder } from './bare-folder.js';

/** Packages that npm installs with the library, and those it imports from them. */
const BROUGHT = ['ioredis', 'ms', 'ulid', '@nestjs/common', '@nestjs/core', 'rxjs'];
const ADAPTERS = ['@nestjs/platform-express', '@nestjs/platform-fastify'];
/** No servers: the page says so. */
const SERVERS = ['--beanstalks', '127.0.0.1:1', '--redis', 'redis://127.0.0.1:1'];

const start = dashboardProcesses();
let folder: BareFolder;
let place: Settings;

beforeAll(async () => {
  folder = await BareFolder.make();
  await folder.add(...BROUGHT);
  place = { cwd: folder.path, program: folder.program };
}, 120_000);
afterEach(() => folder.leaveOut(...ADAPTERS));
afterAll(() => folder.remove());

it.each(ADAPTERS)(
  'the dashboard of the command runs with %s alone',
  async (adapter) => {
    await folder.add(adapter);
    const dashboard = await start(place, ...SERVERS);
    const cookie = await dashboard.open();
    expect(await dashboard.get(dashboard.path(), { cookie })).toMatchObject({
      status: 200,
      text: expect.stringContaining('<title>nest-dq</title>'),
    });
    expect((await dashboard.get(dashboard.path('dashboard.js'), { cookie })).status).toBe(200);
    const longest = encodeURIComponent('/'.repeat(180));
    const tube = dashboard.path(`api/tubes/${longest}/jobs`);
    expect((await dashboard.get(tube, { cookie })).text).toContain('DQ_LEDGER_DOWN');
    expect((await dashboard.act('pause', { tube: 7 }, { cookie })).text).toContain('DQ_BAD_OPTION');
    for (const path of [dashboard.path(), tube, '/', '/absent'])
      expect((await dashboard.get(path)).text).toContain('Open the URL that the command printed');
    expect((await dashboard.act('pause', { tube: 't' }, {})).status).toBe(403);
    dashboard.process.kill('SIGTERM');
    expect(await dashboard.process.ended).toEqual({ code: 0, signal: null });
  },
  60_000,
);

it('says what the dashboard of the command needs where there is neither', async () => {
  const command = new NestDqProcess(['dashboard', ...SERVERS], place);
  expect(await command.ended).toEqual({ code: 1, signal: null });
  expect(command.stdout).toBe('');
  expect(command.stderr).toMatch(
    /^nest-dq: the dashboard requires @nestjs\/platform-express or @nestjs\/platform-fastify, but neither can be loaded \(Cannot find package '@nestjs\/platform-express' .*\): npx -p nest-dq -p @nestjs\/platform-express nest-dq dashboard … \(DQ_CONFIG\)\n$/,
  );
}, 60_000);
