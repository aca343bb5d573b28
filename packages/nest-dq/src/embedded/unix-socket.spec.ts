import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile, readFile, mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EmbeddedNode } from './embedded-node.js';

let folder: string;
let path: string;
const nodes: EmbeddedNode[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nest-dq-socket-'));
  path = join(folder, 'node');
});

afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.close()));
  await rm(folder, { recursive: true });
});

async function open(): Promise<EmbeddedNode> {
  const node = await EmbeddedNode.open();
  nodes.push(node);
  return node;
}

async function ask(command: string): Promise<string> {
  const socket = connect({ path }).setEncoding('latin1');
  let heard = '';
  socket.on('data', (text: string) => (heard += text));
  socket.end(`${command}\r\n`);
  await once(socket, 'close');
  return heard;
}

/** Has a process listen there and be killed, so that it cannot remove the file. */
async function leaveSocket(): Promise<void> {
  const script = join(folder, 'dies.cjs');
  await writeFile(
    script,
    `require('net').createServer().listen(process.argv[2], () => process.send('listens'))`,
  );
  const child = fork(script, [path]);
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'close');
  await rm(script);
}

describe('a unix socket', () => {
  it('serves only this user, and its file is gone when the node is closed', async () => {
    const node = await open();
    const before = process.umask();
    expect(await node.listen({ path })).toEqual({ path });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(process.umask()).toBe(before);
    expect(await ask('list-tube-used')).toBe('USING default\r\n');
    await node.close();
    expect(existsSync(path)).toBe(false);
  });

  it('takes the place of one that a dead process has left', async () => {
    await leaveSocket();
    expect(existsSync(path)).toBe(true);
    await (await open()).listen({ path });
    expect(await ask('list-tube-used')).toBe('USING default\r\n');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('leaves one of a process that lives alone', async () => {
    const node = await open();
    await node.listen({ path });
    const second = await open();
    await expect(second.listen({ path })).rejects.toMatchObject({
      code: 'DQ_LISTEN',
      message: `DQ_LISTEN: cannot listen on unix:${path}: another process is listening there, or the file is not a socket`,
    });
    await second.close();
    expect(await ask('list-tube-used')).toBe('USING default\r\n');
  });

  it('leaves a file that is none alone', async () => {
    await writeFile(path, 'notes');
    await expect((await open()).listen({ path })).rejects.toMatchObject({ code: 'DQ_LISTEN' });
    expect(await readFile(path, 'utf8')).toBe('notes');
    await rm(path);
    await mkdir(path);
    await expect((await open()).listen({ path })).rejects.toMatchObject({ code: 'DQ_LISTEN' });
  });

  it('needs its folder, and says so', async () => {
    const missing = join(folder, 'away', 'node');
    await expect((await open()).listen({ path: missing })).rejects.toThrow(
      `DQ_LISTEN: cannot listen on unix:${missing}: no such folder, or`,
    );
  });
});
