import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ensurePackaged, ensureServers, findProgram, type Host } from './programs.js';

/** A machine that has these programs. */
const machine = (...names: string[]) => {
  const present = new Set(names);
  return { present, find: (name: string) => (present.has(name) ? `/bin/${name}` : undefined) };
};

/** A machine without programs. What was asked to be installed goes to `asked`; then `brings` are there. */
function empty(brings: readonly string[], asked: string[][] = []): Host {
  const { present, find } = machine();
  return {
    find,
    install: async (packages) => {
      asked.push([...packages]);
      for (const name of brings) present.add(name);
    },
  };
}

describe('ensureServers', () => {
  it('gives the paths and installs nothing where both programs are', async () => {
    const { find } = machine('beanstalkd', 'redis-server');
    const install = () => Promise.reject(new Error('nothing to install'));
    await expect(ensureServers({ find, install })).resolves.toEqual({
      beanstalkd: '/bin/beanstalkd',
      'redis-server': '/bin/redis-server',
    });
  });

  it('installs both at once where one is missing', async () => {
    const { present, find } = machine('beanstalkd');
    const installed: (readonly string[])[] = [];
    const install = async (packages: readonly string[]) => {
      installed.push(packages);
      for (const name of packages) present.add(name);
    };
    await expect(ensureServers({ find, install })).resolves.toHaveProperty(
      'redis-server',
      '/bin/redis-server',
    );
    expect(installed).toEqual([['beanstalkd', 'redis-server']]);
  });

  it('says in one sentence how to get them where we cannot install', async () => {
    await expect(ensureServers(machine('beanstalkd'))).rejects.toThrow(
      'redis-server was not found; install it with `apt-get install beanstalkd redis-server` (Debian, Ubuntu) ' +
        'or `brew install beanstalkd redis` (macOS).',
    );
  });

  it('says the same where the installation brought no program', async () => {
    const { find } = machine();
    await expect(ensureServers({ find, install: async () => undefined })).rejects.toThrow(
      'beanstalkd was not found',
    );
  });
});

describe.each([
  { name: 'promtool', debian: 'prometheus', homebrew: 'prometheus' },
  { name: 'java', debian: 'openjdk-17-jre-headless', homebrew: 'openjdk@17' },
  { name: 'postgres', debian: 'postgresql', homebrew: 'postgresql' },
] as const)('ensurePackaged for $name', ({ name, debian, homebrew }) => {
  it('gives the path and installs nothing where it is', async () => {
    const install = () => Promise.reject(new Error('nothing to install'));
    await expect(ensurePackaged(name, { ...machine(name), install })).resolves.toBe(`/bin/${name}`);
  });

  it('installs the package that has it', async () => {
    const asked: string[][] = [];
    await expect(ensurePackaged(name, empty([name], asked))).resolves.toBe(`/bin/${name}`);
    expect(asked).toEqual([[debian]]);
  });

  it.each([machine('beanstalkd'), empty([])])('says how to get it otherwise', async (host) => {
    await expect(ensurePackaged(name, host)).rejects.toThrow(
      `${name} was not found; install it with \`apt-get install ${debian}\` (Debian, Ubuntu) ` +
        `or \`brew install ${homebrew}\` (macOS).`,
    );
  });
});

describe('findProgram', () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'programs-spec-'));
    for (const name of ['folder', 'plain', 'first', 'second']) await mkdir(join(root, name));
    await mkdir(join(root, 'folder', 'program'));
    for (const name of ['plain', 'first', 'second'])
      await writeFile(join(root, name, 'program'), '#!/bin/sh\n');
    for (const name of ['first', 'second']) await chmod(join(root, name, 'program'), 0o755);
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  it('takes the first executable file, past folders and files that are none', () => {
    const folders = ['', 'absent', 'folder', 'plain', 'first', 'second'].map(
      (name) => name && join(root, name),
    );
    expect(findProgram('program', folders)).toBe(join(root, 'first', 'program'));
  });

  it('gives nothing where there is none', () => {
    expect(findProgram('program', [join(root, 'plain')])).toBeUndefined();
  });
});
