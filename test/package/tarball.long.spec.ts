import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { startServers, type Servers } from '../support/system.js';
import { blocksOf } from '../support/page.js';
import {
  ROOT,
  RunningApp,
  TEMPLATE,
  compileApp,
  unpackAll,
  writeApp,
  type RunOptions,
  type Shape,
} from './packed-app.js';

const run = promisify(execFile);
const SHAPE: Shape = { format: 'module', platform: 'context', resolution: 'nodenext' };

/** Packages that Nest and this library load only where they are used. */
const OPTIONAL = [
  '@nestjs/microservices',
  '@nestjs/platform-express',
  '@nestjs/websockets',
  'class-transformer',
  'class-validator',
  'classic-level',
  'croner',
];

const ROLLDOWN = join(ROOT, 'node_modules', '.bin', 'rolldown');
/** Not the declarations of the packages again, which are checked with the first application. */
const OWN_CODE = '--skipLibCheck';
/** Part of the warning where the thread cannot begin. */
const NO_THREAD = 'leases of running jobs are not renewed';

let servers: Servers;
let folder: string;
/** Where the packed library is. */
let installed: string;
const apps: RunningApp[] = [];

beforeAll(async () => {
  servers = await startServers();
  // Below the workspace, so that the peers are found there, and our packages only in the folder's own node_modules.
  await mkdir(join(ROOT, 'node_modules', '.cache'), { recursive: true });
  folder = await mkdtemp(join(ROOT, 'node_modules', '.cache', 'nest-dq-app-'));
  installed = join(await unpackAll(folder), 'nest-dq');
  await writeApp(folder, SHAPE);
  await compileApp(folder, join(ROOT, 'node_modules'));
}, 180_000);

afterAll(async () => {
  for (const app of apps) app.kill();
  await servers.stop();
  await rm(folder, { recursive: true, force: true });
});

function start(options: RunOptions): RunningApp {
  const app = new RunningApp(folder, SHAPE, options);
  apps.push(app);
  return app;
}

it('the packed library runs in an application outside of the workspace, drains on SIGTERM, and loses nothing', async () => {
  const first = start({ play: 'orders slow', servers });
  for (const id of ['now', 'delay', 'at']) {
    await eventually(`the job «${id}» ran`, () => first.saw('ran', { id, attempt: 1, at: 'string' }));
  }
  await eventually('the retry ran', () => first.saw('ran', { id: 'retried', attempt: 2 }));
  expect(first.saw('revoke', { result: 'revoked' })).toBe(true);
  await eventually('the long handler runs', () => first.saw('slow began', { ms: 600_000, attempt: 1 }));

  first.terminate();
  expect(await first.ended).toBe('SIGTERM');
  expect(first.saw('slow cut', { ms: 600_000, closed: '' })).toBe(true);
  expect(first.saw('ran', { id: 'revoked' })).toBe(false);
  expect(first.lines.filter(({ lateness }) => Number(lateness) < 0)).toEqual([]);

  const second = start({ servers });
  await eventually('the long handler runs again, not counting the run that ended', () =>
    second.saw('slow began', { ms: 600_000, attempt: 1 }),
  );
  expect(second.saw('slow began', { ms: 700 })).toBe(false);
  second.terminate();
  await second.ended;
}, 120_000);

it('the code of the README compiles, as do whole files in other pages, and the first runs as it stands', async () => {
  const readme = join(folder, 'readme');
  await mkdir(readme);
  await writeApp(readme, SHAPE);
  const codeIn = async (page: string) => blocksOf(await readFile(join(installed, page), 'utf8'));
  const write = (name: string, code: string) => writeFile(join(readme, name), code);
  const [program, ...pieces] = await codeIn('README.md');
  await write('context.ts', program!);
  const method = `async paid(id: string) {\n${pieces.join('')}}\n\n`;
  await write('app.ts', program!.replace('@DelayedHandler', `${method}  @DelayedHandler`));
  await write(
    'order.repo.ts',
    'export declare class OrderRepo { cancelIfUnpaid(id: string, fence: number): Promise<void> }',
  );
  for (const page of ['scheduling', 'embedded']) {
    const [file] = (await codeIn(`docs/${page}.md`)).filter((code) => code.startsWith('import'));
    await write(`${page}.ts`, file!);
  }
  await compileApp(readme, join(ROOT, 'node_modules'), OWN_CODE);
  const app = new RunningApp(readme, SHAPE, { env: { PORT: '0' } });
  apps.push(app);
  await eventually('the handler ran', () => app.complaints.includes('Order 42 was not paid: cancelled'));
  app.terminate();
  expect(await app.ended).toBe('SIGTERM');
}, 120_000);

it.each(['module', 'commonjs'] as const)(
  'the code of the README of nest-kq runs as it stands, as %s',
  async (format) => {
    const stream = join(folder, `stream-${format}`);
    await mkdir(stream);
    const shape: Shape = { ...SHAPE, format };
    await writeApp(stream, shape);
    const [program] = blocksOf(await readFile(join(installed, '..', 'nest-kq', 'README.md'), 'utf8'));
    await writeFile(join(stream, 'context.ts'), program!);
    await compileApp(stream, join(ROOT, 'node_modules'));
    const app = new RunningApp(stream, shape, { env: { PORT: '0' } });
    apps.push(app);
    await eventually('the handler ran', () => app.complaints.includes('Order 42 over 7 was placed'));
    expect(app.complaints).toContain('messages are stored in memory');
    app.terminate();
    expect(await app.ended).toBe('SIGTERM');
  },
  60_000,
);

it('the module in the README of nest-handlers calls the handlers of an application', async () => {
  const notes = join(folder, 'notes');
  await mkdir(notes);
  await writeApp(notes, SHAPE);
  const [program] = blocksOf(await readFile(join(installed, '..', 'nest-handlers', 'README.md'), 'utf8'));
  await writeFile(join(notes, 'notes.ts'), program!);
  await cp(join(TEMPLATE, 'notes-app.ts'), join(notes, 'notes-app.ts'));
  await compileApp(notes, join(ROOT, 'node_modules'), OWN_CODE);
  const { stdout, stderr } = await run(process.execPath, [join(notes, 'notes-app.js')]);
  expect([stdout, stderr]).toEqual(['ann: rain', '']);
}, 60_000);

it('a bundle of an application has the thread that renews leases where its file is next to it, and warns otherwise', async () => {
  const bundle = await mkdtemp(join(tmpdir(), 'nest-dq-bundle-'));
  try {
    const thread = 'lease-worker.js';
    const entries = [join(folder, 'context.js'), join(installed, 'dist', 'ledger', 'lease-thread', thread)];
    const left = OPTIONAL.flatMap((name) => ['--external', name]);
    await run(ROLLDOWN, [...entries, '--platform', 'node', '--dir', bundle, ...left]);
    await writeFile(join(bundle, 'package.json'), '{ "type": "module" }');
    expect(await complaintsOf(bundle)).not.toContain(NO_THREAD);
    await rm(join(bundle, thread));
    expect(await complaintsOf(bundle)).toContain(NO_THREAD);
  } finally {
    await rm(bundle, { recursive: true });
  }
}, 120_000);

it('a bundle by webpack with the settings in docs/bundling.md runs without node_modules, with the thread and the dashboard', async () => {
  const source = await mkdtemp(join(folder, 'express-'));
  const bundle = await mkdtemp(join(tmpdir(), 'nest-dq-webpack-'));
  try {
    const shape: Shape = { ...SHAPE, platform: 'express' };
    await writeApp(source, shape);
    await compileApp(source, join(ROOT, 'node_modules'), OWN_CODE);
    // As in a folder `dist`: webpack would take a source next to what was compiled.
    await Promise.all(['app.ts', 'express.ts'].map((name) => rm(join(source, name))));
    await webpackAsOnThePage(source, bundle);
    await cp(join(installed, 'dist', 'dashboard', 'client'), join(bundle, 'client'), { recursive: true });
    const app = new RunningApp(bundle, shape, { play: 'orders http', servers });
    apps.push(app);
    await eventually('all jobs ran', () =>
      ['now', 'delay', 'at', 'http'].every((id) => app.saw('ran', { id, attempt: 1 })),
    );
    const page = await fetch(String(app.last('listens')!['dashboard']));
    expect([page.status, await page.text()]).toEqual([
      200,
      expect.stringContaining('<title>nest-dq</title>'),
    ]);
    app.terminate();
    expect(await app.ended).toBe('SIGTERM');
    expect(app.complaints).not.toContain(NO_THREAD);
  } finally {
    await rm(bundle, { recursive: true });
  }
}, 180_000);

/** Bundles what `tsc` has compiled with the configuration that the page shows. */
async function webpackAsOnThePage(source: string, bundle: string): Promise<void> {
  const page = await readFile(join(ROOT, 'docs', 'bundling.md'), 'utf8');
  const [, shown] = /^```js\n(\/\/ webpack\.config[^]*?)^```$/m.exec(page)!;
  await writeFile(join(source, 'webpack.config.cjs'), shown!);
  const script = join(source, 'bundle.cjs');
  const settings = {
    context: folder,
    output: { filename: '[name].js', path: bundle },
    optimization: { minimize: false }, // half of the time
    express: join(source, 'express.js'),
  };
  await writeFile(
    script,
    `const { module: forTypeScript, ...shown } = require('./webpack.config.cjs');
    const { express, ...settings } = ${JSON.stringify(settings)};
    const { main, ...entry } = shown.entry;
    require('webpack')({ ...shown, ...settings, entry: { express, ...entry } }, (error, stats) => {
      if (error || stats.hasErrors()) throw error ?? new Error(stats.toString('errors-only'));
    });`,
  );
  await run(process.execPath, [script]);
}

/** Errors and warnings of an application in a folder, up to the time that its jobs have run. */
async function complaintsOf(bundle: string): Promise<string> {
  const app = new RunningApp(bundle, SHAPE, { play: 'orders', servers });
  apps.push(app);
  for (const id of ['now', 'delay', 'at']) {
    await eventually(`the job «${id}» ran`, () => app.saw('ran', { id }) || !app.running);
  }
  await eventually('all was scheduled', () => app.saw('revoke', { result: 'revoked' }));
  app.terminate();
  await app.ended;
  return app.complaints;
}

it('the packed command is found, can be executed, and runs', async () => {
  const manifest = await readFile(join(installed, 'package.json'), 'utf8');
  const { bin, version } = JSON.parse(manifest) as { bin: { 'nest-dq': string }; version: string };
  const { stdout } = await run(join(installed, bin['nest-dq']), ['--version']);
  expect(stdout).toBe(`${version}\n`);
});
