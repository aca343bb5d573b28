import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { dashboardProcesses } from '../cli/dashboard-process.js';
import { NestDqProcess } from '../cli/nest-dq-process.js';
import { browserSuite } from '../dashboard/browser.js';
import { startServers, type Servers } from '../support/system.js';
import {
  RunningApp,
  PACKAGES,
  TEMPLATE,
  compileApp,
  packAll,
  writeApp,
  type PackageName,
  type RunOptions,
  type Shape,
} from './packed-app.js';

// Fresh applications that install the packed packages, and from a registry all that these need, as users have them. `npm run compat`.
// Each line of Nest has a file, so that Jest runs two at a time. The lines don't try every combination: each value occurs, and each pair of
// format and resolution that a Nest allows.

const run = promisify(execFile);

/** A line of Nest's versions, and what is tried with it. */
interface Line {
  readonly nest: string;
  readonly typescript: string;
  /** Versions of `@nestjs/…`: not each package has the same numbers. */
  readonly versions: Readonly<Record<string, string>>;
  readonly apps: readonly Shape[];
}

/** Warnings that these applications log by design. */
const WARNINGS = /^.* WARN .*(stored in memory|will be retried).*\n/gm;

/** Takes ES modules, and `module-sync`, from `require`: what is left is what tools get that cannot load them. */
const COMMONJS_ONLY = '--no-experimental-require-module';

/** One whose `nest new` makes CommonJS applications, with a TypeScript that ts-jest can load. */
const JEST_LINE = '11.0';

const browser = browserSuite();
const startDashboard = dashboardProcesses();
let parent: string | undefined;
let tarballs: Record<PackageName, string>;
let servers: Servers | undefined;

beforeAll(async () => {
  // npm install itself blames the dependencies for it.
  await npm(tmpdir(), 'view', '@nestjs/core', 'version').catch((error: unknown) => {
    throw new Error('the npm registry cannot be reached', { cause: error });
  });
  servers = await startServers();
  parent = await mkdtemp(join(tmpdir(), 'nest-dq-compat-'));
  tarballs = await packAll(parent);
}, 60_000);

afterAll(async () => {
  await servers?.stop();
  if (parent !== undefined) await rm(parent, { recursive: true });
});

/** Rejects with what npm says. */
async function npm(folder: string, ...args: string[]): Promise<void> {
  // Without what the npm around us says to its scripts, of which its own folder is a part.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_(package_|lifecycle_|config_local_prefix)/.test(name),
    ),
  );
  const patience = ['--prefer-offline', '--fetch-retries=1', '--fetch-retry-mintimeout=1000'];
  await run('npm', [...args, ...patience], { cwd: folder, env }).catch((error: { stderr: string }) => {
    throw new Error(`npm ${args[0]} failed:\n${error.stderr}`);
  });
}

/** A new folder with all that the applications of a line need, installed as a user installs it. */
async function install({ nest, typescript, versions }: Line): Promise<string> {
  const folder = join(parent!, nest);
  await mkdir(folder);
  const dependencies = {
    ...Object.fromEntries(Object.entries(versions).map(([name, version]) => [`@nestjs/${name}`, version])),
    '@opentelemetry/api': '1.9.1',
    '@types/express': '5.0.6',
    '@types/node': '20.19.43',
    ...Object.fromEntries(PACKAGES.map((name) => [name, `file:${tarballs[name]}`])),
    'reflect-metadata': '0.2.2',
    rxjs: '7.8.2',
    typescript,
    ...(nest === JEST_LINE && { jest: '30.5.2', 'ts-jest': '29.4.15' }),
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }, null, 2));
  await npm(folder, 'install', '--no-audit', '--no-fund', '--ignore-scripts');
  return folder;
}

/** Runs the application until it has done all that it should, and ends it. */
async function check(folder: string, shape: Shape, options: RunOptions = {}): Promise<void> {
  const http = shape.platform !== 'context';
  const app = new RunningApp(folder, shape, {
    play: `orders entries slow${http ? ' http' : ''}`,
    ...options,
  });
  try {
    const ids = ['now', 'delay', 'at', ...(http ? ['http'] : [])];
    const done = () =>
      ids.every((id) => app.saw('ran', { id, attempt: 1, at: 'string' })) &&
      app.saw('ran', { id: 'retried', attempt: 2 }) &&
      app.saw('entries', { scheduled: 1, host: '127.0.0.1' }) &&
      app.saw('slow began', { ms: 600_000 }) &&
      (!http || app.saw('listens'));
    await eventually('all jobs ran, or the application ended', () => done() || !app.running);
    expect({ done: done(), complaints: app.complaints.replace(WARNINGS, '') }).toEqual({
      done: true,
      complaints: '',
    });
    if (http) await openDashboard(String(app.last('listens')!['dashboard']));
    expect(app.saw('revoke', { result: 'revoked' })).toBe(true);
    expect(app.saw('ran', { id: 'revoked' })).toBe(false);
    app.terminate();
    expect(await app.ended).toBe('SIGTERM');
    // At the end of the drain every database works, wherever its module stands.
    expect(app.saw('slow cut', { ms: 600_000, closed: '' })).toBe(true);
  } finally {
    app.kill();
    await app.ended;
  }
}

/** Opens the dashboard in a browser, and acts on it. */
async function openDashboard(url: string): Promise<void> {
  const { page } = await browser.open(url);
  await page
    .getByRole('status')
    .filter({ hasText: /All well|Live/ })
    .waitFor();
  await page.getByRole('link', { name: 'Tubes' }).click();
  await page.getByRole('main').getByRole('link', { name: 'order.cancel' }).first().click();
  // The list has a button Pause in each row.
  await page.getByRole('heading', { level: 1, name: 'order.cancel' }).waitFor();
  await page.getByRole('button', { name: /^Pause/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: /^Resume/ }).click();
  await page.getByRole('button', { name: /^Pause/ }).waitFor();
  await page.context().close(); // before its server ends
}

/** The tests of a line. */
export function isCompatible(line: Line): void {
  describe(`Nest ${line.nest}, TypeScript ${line.typescript}`, () => {
    let installed: string;

    beforeAll(async () => {
      installed = await install(line);
    }, 240_000);

    it.each(line.apps)(
      '$format, $resolution, $platform',
      async (shape) => {
        const folder = await mkdtemp(join(installed, 'app-'));
        await writeApp(folder, shape);
        await compileApp(folder, join(installed, 'node_modules'));
        await check(folder, shape);
        // With Redis, and so with the thread that renews leases. Nest itself has no CommonJS from 12 on.
        if (shape.format === 'commonjs' && line.nest.startsWith('11')) {
          await check(folder, shape, { nodeArgs: [COMMONJS_ONLY], servers });
        }
      },
      180_000,
    );

    it('one copy of each package in a process', async () => {
      const script = join(await mkdtemp(join(installed, 'app-')), 'copies.mjs');
      await cp(join(TEMPLATE, 'copies.mjs'), script);
      const { stdout } = await run(process.execPath, [script]);
      const copies = JSON.parse(stdout) as Record<string, number>;
      expect(Object.keys(copies)).toEqual(
        expect.arrayContaining(['nest-dq/testing', 'nest-handlers/schema']),
      );
      expect(Object.entries(copies).filter(([, count]) => count !== 1)).toEqual([]);
    });

    it('the command', async () => {
      const { stdout } = await run(join(installed, 'node_modules', '.bin', 'nest-dq'), ['--version']);
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    });

    it('the dashboard of the command, where there is a platform', async () => {
      const program = join(installed, 'node_modules', 'nest-dq', 'bin', 'nest-dq.js');
      const place = { cwd: installed, program };
      const named = ['--beanstalks', servers!.beanstalkds[0]!.endpoint, '--redis', servers!.redis.url];
      if (!Object.keys(line.versions).some((name) => name.startsWith('platform-'))) {
        const command = new NestDqProcess(['dashboard', ...named], place);
        expect((await command.ended).code).toBe(1);
        expect(command.stderr).toContain('npx -p nest-dq -p @nestjs/platform-express nest-dq dashboard');
        return;
      }
      const dashboard = await startDashboard(place, ...named);
      const cookie = await dashboard.open();
      for (const path of ['', 'dashboard.js', 'api/nodes'])
        expect((await dashboard.get(dashboard.path(path), { cookie })).status).toBe(200);
      expect((await dashboard.act('pause', { tube: 'orders' }, { cookie })).status).toBe(200);
      dashboard.process.kill('SIGTERM');
      expect(await dashboard.process.ended).toEqual({ code: 0, signal: null });
    }, 60_000);

    if (line.nest !== JEST_LINE) return;

    it('Jest in CommonJS, as Nest sets it up, with nothing of the library transformed', async () => {
      const folder = await mkdtemp(join(installed, 'app-'));
      const jest = {
        testRegex: '.*\\.spec\\.ts$',
        transform: { '^.+\\.(t|j)s$': 'ts-jest' },
        testEnvironment: 'node',
        fakeTimers: { enableGlobally: true },
      };
      await writeApp(folder, { format: 'commonjs', resolution: 'node16', platform: 'context' }, { jest });
      await cp(
        join(import.meta.dirname, '..', 'kit', 'jest-commonjs', 'orders.test.cts'),
        join(folder, 'orders.spec.ts'),
      );
      const script = join(installed, 'node_modules', 'jest', 'bin', 'jest.js');
      // Nx asks for colours, also of what runs in its tasks.
      const env = { ...process.env, FORCE_COLOR: '0' };
      const { stderr } = await run(process.execPath, [script], { cwd: folder, env });
      expect(stderr).toMatch(/Tests: +1 passed/);
    }, 120_000);
  });
}
