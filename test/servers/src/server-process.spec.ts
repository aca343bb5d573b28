import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transformFile } from '@swc/core';
import { ServerProcess } from './server-process.js';
import { eventually, within } from './waiting.js';
import { ask } from './wire.js';

const LIMIT = 20_000;
let folder: string;
let temporary: string;

/** Compiles this package, so that a plain node can run it. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'server-process-spec-'));
  temporary = join(folder, 'tmp');
  await mkdir(temporary);
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const sources = (await readdir(import.meta.dirname)).filter((name) => /^[^.]+\.ts$/.test(name));
  for (const name of sources) {
    const { code } = await transformFile(join(import.meta.dirname, name), {
      swcrc: false,
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
      module: { type: 'es6' },
    });
    await writeFile(join(folder, name.replace(/ts$/, 'js')), code);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the script in a Node process of its own. Its servers have their folders in `temporary`. */
async function run(name: string, script: string): Promise<ChildProcess> {
  await writeFile(join(folder, name), script);
  return spawn(process.execPath, [join(folder, name)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: temporary },
  });
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('the child has no output');
  const [line] = (await within(LIMIT, 'a line of the child', once(createInterface(stdout), 'line'))) as [
    string,
  ];
  return line;
}

/** This does not check the process id, because it may stay: a container without an init keeps dead orphans as zombies. */
const refusesConnections = (port: number) =>
  ask({ host: '127.0.0.1', port }, 'PING', 200).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
  );

describe('ServerProcess', () => {
  it('ends, and removes its folder, when its parent is killed, even if it is frozen', async () => {
    const parent = await run(
      'killed.js',
      `import { startBeanstalkd, startRedis } from './index.js';
       const servers = await Promise.all([startBeanstalkd(), startBeanstalkd(), startRedis()]);
       servers[0].freeze();
       console.log(JSON.stringify(servers.map(({ port }) => port)));`,
    );
    const ports = JSON.parse(await firstLine(parent)) as number[];
    expect(ports).toHaveLength(3);
    await expect(readdir(temporary)).resolves.toHaveLength(3);
    await expect(Promise.all(ports.map(refusesConnections))).resolves.toEqual([false, false, false]);
    parent.kill('SIGKILL');
    for (const port of ports)
      await eventually(`the server on port ${port} ends`, () => refusesConnections(port));
    await eventually('the folders are gone', async () => (await readdir(temporary)).length === 0);
  }, 60_000);

  it('lets its parent end on its own once it is stopped', async () => {
    const parent = await run(
      'stopped.js',
      `import { startBeanstalkd } from './index.js';
       const server = await startBeanstalkd();
       await server.kill();
       await server.restart();
       await server.stop();`,
    );
    await expect(within(LIMIT, 'the parent to end', once(parent, 'exit'))).resolves.toEqual([0, null]);
    await expect(readdir(temporary)).resolves.toEqual([]);
  }, 60_000);

  it('reports its exit status and its last output', async () => {
    const server = await ServerProcess.spawn('/bin/sh', ['-c', 'echo out; echo err >&2; exit 7'], folder);
    await expect(within(LIMIT, 'the shell', server.exited)).resolves.toEqual({ code: 7, signal: null });
    await expect(server.lastOutput()).resolves.toBe('out\nerr');
    await server.kill('SIGKILL');
    expect(server.exit).toEqual({ code: 7, signal: null });
  });

  it('says which program could not be started', async () => {
    await expect(ServerProcess.spawn('/no/such/program', [], folder)).rejects.toThrow(
      '/no/such/program could not be started',
    );
  });
});
