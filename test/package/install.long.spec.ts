import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BareFolder } from './bare-folder.js';
import { PACKAGES, ROOT, type PackageName } from './packed-app.js';

const run = promisify(execFile);

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}
interface Locked extends Manifest {
  readonly hasInstallScript?: boolean;
  readonly link?: boolean;
}

const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as unknown;
const manifestOf = (name: PackageName) => read(`packages/${name}/package.json`) as Manifest;
const library = manifestOf('nest-dq');

/** A folder and all above it, in the workspace. */
function foldersUp(folder: string): string[] {
  return folder === '.' ? ['.'] : [folder, ...foldersUp(dirname(folder))];
}

/** The places in the lock file of all that a package brings along, itself included. */
function closure(packages: Readonly<Record<string, Locked>>, from: string, seen = new Set<string>()) {
  if (seen.has(from)) return seen;
  seen.add(from);
  const { dependencies, optionalDependencies } = packages[from]!;
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const places = foldersUp(from).map((folder) => join(folder, 'node_modules', name));
    closure(
      packages,
      places.find((place) => packages[place])!,
      seen,
    );
  }
  return seen;
}

it('brings nothing along that runs a script at its installation', () => {
  const { packages } = read('package-lock.json') as { packages: Record<string, Locked> };
  const brought = closure(packages, 'packages/nest-dq');
  expect(brought).toContain('node_modules/ioredis');
  expect([...brought].filter((place) => packages[place]!.hasInstallScript)).toEqual([]);
  expect(closure(packages, 'sample-app')).toContain('node_modules/classic-level'); // which has one
});

it('asks for its peers as widely as Nest does, in all packages alike', () => {
  const nest = read('node_modules/@nestjs/core/package.json') as Manifest;
  expect(library.peerDependencies!['reflect-metadata']).toBe(nest.peerDependencies!['reflect-metadata']);
  expect(library.peerDependencies).toMatchObject(manifestOf('nest-handlers').peerDependencies!);
});

it('has one version in all packages, and asks for that very version of the others', () => {
  for (const name of PACKAGES) expect([name, manifestOf(name).version]).toEqual([name, library.version]);
  expect(library.dependencies!['nest-handlers']).toBe(library.version);
});

describe('nest-kq without nest-dq', () => {
  let folder: BareFolder;
  beforeAll(async () => {
    folder = await BareFolder.make();
    const brought = ['ms', 'kafkajs', '@nestjs/common', '@nestjs/core', '@nestjs/testing', 'rxjs'];
    await folder.add(...brought, 'reflect-metadata');
    await folder.leaveOut('nest-dq');
  }, 60_000);
  afterAll(() => folder.remove());

  it.each(['module', 'commonjs'] as const)('loads as %s', async (format) => {
    const entries = ['nest-kq', 'nest-kq/testing', 'nest-kq/confluent', 'nest-kq/registry'];
    const load = (name: string) => (format === 'module' ? `await import('${name}')` : `require('${name}')`);
    const names = entries.map((name) => `Object.keys(${load(name)})[0]`);
    const code = `console.log(typeof (${load('nest-kq')}).KqModule.forRoot, ${names.join(', ')})`;
    const args = ['--input-type', format, '--eval', code];
    const { stdout } = await run(process.execPath, args, { cwd: folder.path });
    expect(stdout).toMatch(/^function \S+ KqTestKit confluent SchemaRegistry/);
    const joint = run(process.execPath, ['--input-type', format, '--eval', load('nest-kq/dq')], {
      cwd: folder.path,
    });
    await expect(joint).rejects.toThrow(/Cannot find (module|package) 'nest-dq'/);
  });
});

describe('nest-kq without kafkajs', () => {
  let folder: BareFolder;
  beforeAll(async () => {
    folder = await BareFolder.make();
    await folder.add('ms', '@nestjs/common', '@nestjs/core', '@nestjs/testing', 'rxjs', 'reflect-metadata');
  }, 60_000);
  afterAll(() => folder.remove());

  it.each(['module', 'commonjs'] as const)(
    'runs in memory, in its test kit and by another driver, and says what is missing where it is the driver: as %s',
    async (format) => {
      const load = (name: string) => (format === 'module' ? `await import('${name}')` : `require('${name}')`);
      const code = `
        ${load('reflect-metadata')};
        const { Test } = ${load('@nestjs/testing')};
        const { KqModule, KqPusher } = ${load('nest-kq')};
        const { KqTestKit } = ${load('nest-kq/testing')};
        const logger = { log() {}, warn() {}, error: console.error };
        const building = (options) =>
          Test.createTestingModule({ imports: [KqModule.forRoot({ logger, ...options })] });
        const brokers = ['none:1'];
        const names = [];
        const driver = () => {
          names.push('asked');
          return { admin: {}, producer: () => ({ close: async () => {} }), close: async () => {} };
        };
        const run = async () => {
          const memory = await building({ brokers: 'memory' }).compile();
          await memory.init();
          names.push((await memory.get(KqPusher).push('orders', 'v')).topic);
          await memory.close();
          const kit = new KqTestKit();
          await (await kit.override(building({ brokers, group: 'shop' })).compile()).close();
          await kit.close();
          await (await building({ brokers, driver }).compile()).close();
          await building({ brokers }).compile().catch(({ message }) => names.push(message));
          console.log(JSON.stringify(names));
        };
        run();`;
      const args = ['--input-type', format, '--eval', code];
      const { stdout, stderr } = await run(process.execPath, args, { cwd: folder.path });
      expect(stderr).toBe('');
      expect(JSON.parse(stdout)).toEqual([
        'orders',
        'asked',
        expect.stringMatching(
          /^KQ_CONFIG: kafkajs cannot be loaded: Cannot find (module|package) 'kafkajs'[^]*; npm install kafkajs, or set another `driver`$/,
        ),
      ]);
    },
  );
});

describe('the command', () => {
  let folder: BareFolder;
  beforeAll(async () => {
    folder = await BareFolder.make();
    await folder.add('ioredis', 'ms', 'rxjs', 'ulid');
  }, 60_000);
  afterAll(() => folder.remove());

  it('loads nothing of Nest, which takes as long as all else, to act on a cluster', async () => {
    const { stdout } = await run(folder.program, ['find', '--help']);
    expect(stdout).toMatch(/^nest-dq find \[REF\]/);
  });

  it('says what to install where a folder is asked for, and creates none', async () => {
    const dir = join(folder.path, 'data');
    await expect(run(folder.program, ['serve', '--port', '0', '--dir', dir])).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^nest-dq: .* needs the package classic-level, which cannot be loaded \(.*\): npm install classic-level@3 \(DQ_CONFIG\)\n$/,
      ),
    });
    expect(existsSync(dir)).toBe(false);
  });
});
