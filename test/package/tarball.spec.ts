import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startServers, type Servers } from '../support/system.js';
import { eventually } from '../support/waiting.js';

const run = promisify(execFile);
const test = process.cwd();
const root = join(test, '..');

interface Line {
  readonly event: string;
  readonly [field: string]: unknown;
}

class App {
  readonly lines: Line[] = [];
  readonly ended: Promise<number | NodeJS.Signals | null>;
  private readonly child: ChildProcess;

  constructor(folder: string, servers: Servers, env: Record<string, string>) {
    const { PATH } = process.env;
    this.child = spawn(process.execPath, ['main.js'], {
      cwd: folder,
      env: {
        PATH,
        DQ_BEANSTALKS: servers.beanstalkds.map(({ endpoint }) => endpoint).join(','),
        DQ_REDIS: servers.redis.url,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    createInterface(this.child.stdout!).on('line', (line) => {
      if (line.startsWith('{')) this.lines.push(JSON.parse(line) as Line);
    });
    this.ended = new Promise((resolve) => this.child.on('exit', (code, signal) => resolve(code ?? signal)));
  }

  terminate(): void {
    this.child.kill('SIGTERM');
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  saw(event: string, fields: Record<string, unknown> = {}): boolean {
    return this.lines.some(
      (line) => line.event === event && Object.entries(fields).every(([name, value]) => line[name] === value),
    );
  }
}

let servers: Servers;
let folder: string;
const apps: App[] = [];

beforeAll(async () => {
  servers = await startServers();
  // Below the workspace, so that the peers are found there, and the library only in the folder's own node_modules.
  await mkdir(join(root, 'node_modules', '.cache'), { recursive: true });
  folder = await mkdtemp(join(root, 'node_modules', '.cache', 'nest-dq-app-'));
  const library = join(root, 'packages', 'nest-dq');
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: library });
  const report = JSON.parse(stdout.slice(stdout.search(/^[[{]/m))) as unknown;
  const [{ filename }] = (Array.isArray(report) ? report : Object.values(report as object)) as [
    { filename: string },
  ];
  const installed = join(folder, 'node_modules', 'nest-dq');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1']);
  await cp(join(test, 'package', 'app', 'main.ts'), join(folder, 'main.ts'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  const compilerOptions = {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    skipLibCheck: false,
    types: ['node'],
    lib: ['es2023', 'esnext.disposable', 'dom'],
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['main.ts'] }));
  await run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder]).catch(
    (error: { stdout: string }) => {
      throw new Error(`the application does not compile:\n${error.stdout}`);
    },
  );
}, 180_000);

afterAll(async () => {
  for (const app of apps) app.kill();
  await servers.stop();
  await rm(folder, { recursive: true, force: true });
});

function start(env: Record<string, string>): App {
  const app = new App(folder, servers, env);
  apps.push(app);
  return app;
}

it('the packed library runs in an application outside of the workspace, drains on SIGTERM, and loses nothing', async () => {
  const first = start({ PLAY: 'yes' });
  for (const id of ['now', 'delay', 'at']) {
    await eventually(`the job «${id}» ran`, () => first.saw('ran', { id, attempt: 1, at: 'string' }));
  }
  await eventually('the retry ran', () => first.saw('ran', { id: 'retried', attempt: 2 }));
  expect(first.saw('revoke', { result: 'revoked' })).toBe(true);
  await eventually('the long handler runs', () => first.saw('slow began', { ms: 600_000, attempt: 1 }));

  first.terminate();
  expect(await first.ended).toBe('SIGTERM');
  expect(first.saw('ran', { id: 'revoked' })).toBe(false);
  expect(first.lines.filter(({ lateness }) => Number(lateness) < 0)).toEqual([]);

  const second = start({});
  await eventually('the long handler runs again, not counting the run that ended', () =>
    second.saw('slow began', { ms: 600_000, attempt: 1 }),
  );
  expect(second.saw('slow began', { ms: 700 })).toBe(false);
  second.terminate();
  await second.ended;
}, 120_000);
