import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Servers } from '../support/system.js';

const run = promisify(execFile);
const test = join(import.meta.dirname, '..');

/** The workspace's root. */
export const ROOT = join(test, '..');

/** The folder with the applications' sources. */
export const TEMPLATE = join(test, 'package', 'template');

/** The ways in which applications differ. */
export interface Shape {
  readonly format: 'module' | 'commonjs';
  readonly platform: 'context' | 'express' | 'fastify';
  /** How TypeScript finds packages; `node10` is what `module: commonjs` meant before TypeScript 6. */
  readonly resolution: 'nodenext' | 'node16' | 'bundler' | 'node10';
}

const RESOLUTIONS: Readonly<Record<Shape['resolution'], Readonly<Record<string, string>>>> = {
  nodenext: { module: 'nodenext' },
  node16: { module: 'node16' },
  bundler: { module: 'es2022', moduleResolution: 'bundler' },
  node10: { module: 'commonjs' },
};

/** The packages that are published. The first needs none of the others. */
export const PACKAGES = ['nest-handlers', 'nest-dq', 'nest-kq'] as const;

export type PackageName = (typeof PACKAGES)[number];

/** Packs the built packages into the folder, as npm would publish them; returns the paths of their tarballs. */
export async function packAll(folder: string): Promise<Record<PackageName, string>> {
  const tarballs = PACKAGES.map(async (name) => [name, await pack(name, folder)] as const);
  return Object.fromEntries(await Promise.all(tarballs)) as Record<PackageName, string>;
}

async function pack(name: PackageName, folder: string): Promise<string> {
  const args = ['pack', '--json', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: join(ROOT, 'packages', name) });
  const report = JSON.parse(stdout.slice(stdout.search(/^[[{]/m))) as unknown;
  const [{ filename }] = (Array.isArray(report) ? report : Object.values(report as object)) as [
    { filename: string },
  ];
  return join(folder, filename);
}

/** Packs the packages, and puts them alone into the folder's `node_modules`. Returns the path of that. */
export async function unpackAll(folder: string): Promise<string> {
  const modules = join(folder, 'node_modules');
  for (const [name, tarball] of Object.entries(await packAll(folder))) {
    await mkdir(join(modules, name), { recursive: true });
    await run('tar', ['-xzf', tarball, '-C', join(modules, name), '--strip-components=1']);
  }
  return modules;
}

/**
 * Writes an application's sources and settings into an empty folder. Files that are added are compiled, too. `packageJson` is
 * added to its own.
 */
export async function writeApp(folder: string, shape: Shape, packageJson: object = {}): Promise<void> {
  const { format, platform, resolution } = shape;
  for (const name of ['app.ts', `${platform}.ts`]) {
    await cp(join(TEMPLATE, name), join(folder, name));
  }
  const compilerOptions = {
    ...RESOLUTIONS[resolution],
    target: 'es2023',
    strict: true,
    skipLibCheck: false,
    types: ['node'],
    lib: ['es2023', 'esnext.disposable', 'dom'],
    esModuleInterop: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['*.ts'] }, null, 2),
  );
  const manifest = { private: true, type: format, ...packageJson };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
}

/** `modules` is the folder that has TypeScript. `flags`: more of its flags. */
export async function compileApp(folder: string, modules: string, ...flags: string[]): Promise<void> {
  const tsc = join(modules, '.bin', 'tsc');
  await run(process.execPath, [tsc, '-p', folder, ...flags]).catch((error: { stdout: string }) => {
    throw new Error(`the application does not compile:\n${error.stdout}`);
  });
}

interface Line {
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface RunOptions {
  /** The play of the application, see `run` of `template/app.ts`. @default nothing but its handlers */
  readonly play?: string;
  /** @default an embedded node */
  readonly servers?: Servers;
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** An application's process, and the events it printed. */
export class RunningApp {
  readonly lines: Line[] = [];
  /** Whatever else it printed. */
  complaints = '';
  running = true;
  readonly ended: Promise<number | NodeJS.Signals | null>;
  private readonly child: ChildProcess;

  constructor(
    folder: string,
    { platform }: Shape,
    { play = '', servers, nodeArgs = [], env }: RunOptions = {},
  ) {
    const { PATH } = process.env;
    const cluster = servers && {
      DQ_BEANSTALKS: servers.beanstalkds.map(({ endpoint }) => endpoint).join(','),
      DQ_REDIS: servers.redis.url,
    };
    this.child = spawn(process.execPath, [...nodeArgs, `${platform}.js`], {
      cwd: folder,
      env: { PATH, NO_COLOR: '1', PLAY: play, ...cluster, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    createInterface(this.child.stdout!).on('line', (line) => {
      if (line.startsWith('{')) this.lines.push(JSON.parse(line) as Line);
      else this.complaints += `${line}\n`;
    });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.complaints += text));
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code, signal) => {
        this.running = false;
        resolve(code ?? signal);
      });
    });
  }

  terminate(): void {
    this.child.kill('SIGTERM');
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  /** The last line it printed for an event. */
  last(event: string): Line | undefined {
    return this.lines.findLast((line) => line.event === event);
  }

  saw(event: string, fields: Record<string, unknown> = {}): boolean {
    return this.lines.some(
      (line) => line.event === event && Object.entries(fields).every(([name, value]) => line[name] === value),
    );
  }
}
