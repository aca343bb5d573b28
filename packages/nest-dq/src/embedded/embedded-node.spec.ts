import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  EmbeddedNode,
  type EmbeddedNodeOptions,
  type ListenAddress,
  type ListenOptions,
} from './embedded-node.js';

/** One who talks to a node over TCP, in latin1. */
class Caller {
  private heard = '';
  private onNews: () => void = () => undefined;
  readonly ended: Promise<unknown>;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.heard += text;
      this.onNews();
    });
    socket.on('error', () => undefined); // the replies show how it ended
    this.ended = Promise.race([once(socket, 'end'), once(socket, 'close')]);
    socket.on('close', () => this.onNews());
  }

  /** Who `stays` does not end when the node does. */
  static async call({ host, port }: ListenAddress, { stays = false } = {}): Promise<Caller> {
    const socket = connect({ host, port, allowHalfOpen: stays });
    await once(socket, 'connect');
    sockets.push(socket);
    return new Caller(socket);
  }

  async says(bytes: string, reply: string): Promise<void> {
    this.socket.write(bytes, 'latin1');
    await this.hears(reply);
  }

  async hears(reply: string): Promise<void> {
    while (this.heard.length < reply.length && !this.socket.closed) {
      await new Promise<void>((resolve) => (this.onNews = resolve));
    }
    expect(this.heard.slice(0, reply.length)).toBe(reply);
    this.heard = this.heard.slice(reply.length);
  }

  /** Bytes received and not yet consumed. */
  all(): string {
    return this.heard;
  }

  /** The connection ends, and nothing more was said. */
  async hearsEnd(): Promise<void> {
    await this.ended;
    expect(this.heard).toBe('');
  }
}

const PUT = 'put 0 0 60 1\r\nx\r\n';
const nodes: EmbeddedNode[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

async function open(options?: EmbeddedNodeOptions): Promise<EmbeddedNode> {
  const node = await EmbeddedNode.open(options);
  nodes.push(node);
  return node;
}

async function listening(options?: ListenOptions, of?: EmbeddedNodeOptions) {
  const node = await open(of);
  return { node, address: await node.listen({ port: 0, ...options }) };
}

describe('EmbeddedNode', () => {
  it('serves this machine, on a free port, and itself, with the same jobs', async () => {
    const { node, address } = await listening();
    expect(address).toEqual({ host: '127.0.0.1', port: expect.any(Number) });
    const caller = await Caller.call(address);
    await caller.says(PUT, 'INSERTED 1\r\n');
    const stream = node.dial();
    stream.write('reserve\r\n');
    expect(String(await once(stream, 'data'))).toBe('RESERVED 1 1\r\nx\r\n');
  });

  it('serves several places', async () => {
    const { node, address } = await listening();
    const other = await node.listen({ port: 0 });
    expect(other.port).not.toBe(address.port);
    await (await Caller.call(address)).says(PUT, 'INSERTED 1\r\n');
    await (await Caller.call(other)).says(PUT, 'INSERTED 2\r\n');
  });

  it('answers a half-closed client that takes its time, too', async () => {
    const { address } = await listening();
    const caller = await Caller.call(address);
    const body = 'x'.repeat(60_000);
    caller.socket.end(`put 0 0 60 ${body.length}\r\n${body}\r\n${'peek 1\r\n'.repeat(200)}`);
    await caller.hears(`INSERTED 1\r\n${`FOUND 1 ${body.length}\r\n${body}\r\n`.repeat(200)}`);
    await caller.hearsEnd();
  });

  it.each([
    [{ maxJobSize: 0 }, '`maxJobSize` is 0'],
    [{ maxJobSize: 2 ** 30 + 1 }, '`maxJobSize` is 1073741825'],
    [{ dir: '' }, '`dir` is ""'],
    [{ dir: undefined }, '`dir` is undefined'],
    [{ minFree: -1 }, '`minFree` is -1: expected a number of bytes, 0 or more'],
    [{ warn: 'loudly' }, '`warn` is "loudly"'],
    [{ size: 1 }, 'unknown option `size`'],
  ])('is not opened with %j', async (options, message) => {
    await expect(EmbeddedNode.open(options as EmbeddedNodeOptions)).rejects.toMatchObject({
      code: 'DQ_CONFIG',
      message: expect.stringContaining(message),
    });
  });
});

describe('a folder', () => {
  let dir: string;

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'nest-dq-'));
  });

  afterEach(() => rm(dir, { recursive: true, force: true }));

  it('has what was asked for when the node closed, if it was answered', async () => {
    const { node, address } = await listening({}, { dir });
    const caller = await Caller.call(address);
    caller.socket.write(PUT.repeat(100));
    await once(caller.socket, 'data');
    await node.close();
    await caller.ended;
    const answers = caller.all();
    expect(answers).toMatch(/^(INSERTED \d+\r\n)+$/);
    const { address: again } = await listening({}, { dir });
    expect(await ask(again, 'stats-tube default')).toContain(
      `\ncurrent-jobs-ready: ${answers.split('\r\n').length - 1}\n`,
    );
  });
});

describe('listening', () => {
  it('on a port that is taken fails, and says so', async () => {
    const { address } = await listening();
    const other = await open();
    await expect(other.listen(address)).rejects.toMatchObject({
      code: 'DQ_LISTEN',
      message: `DQ_LISTEN: cannot listen on 127.0.0.1:${address.port}: the port is taken`,
      cause: { code: 'EADDRINUSE' },
    });
    await other.listen({ port: 0 });
  });

  it('on an address of another machine fails, and says so', async () => {
    const node = await open();
    await expect(node.listen({ port: 0, host: '192.0.2.1' })).rejects.toMatchObject({
      code: 'DQ_LISTEN',
      message: 'DQ_LISTEN: cannot listen on 192.0.2.1:0: this machine has no such address',
    });
  });

  it.each([
    [{ port: -1 }, '`port` is -1'],
    [{ port: 65_536 }, '`port` is 65536'],
    [{ port: '11300' }, '`port` is "11300"'],
    [{ host: '' }, '`host` is ""'],
    [{ maxConnections: 0 }, '`maxConnections` is 0'],
    [{ maxConnections: 1.5 }, '`maxConnections` is 1.5'],
    [{ pth: '/x' }, 'unknown option `pth`: expected one of port, host, path'],
    [{ path: '' }, '`path` is "": expected the path of a socket, at most 103 bytes as an absolute path'],
    [{ path: undefined }, '`path` is undefined'],
    [{ path: `/${'x'.repeat(103)}` }, 'at most 103 bytes'],
    [{ path: '/x', port: 1 }, 'unknown option `port`: expected one of path, maxConnections'],
    [{ idle: 999 }, '`idle` is 999: expected a duration of at least one second'],
    [{ readOnly: 'yes' }, '`readOnly` is "yes": expected true or false'],
    [{ deny: 'put' }, '`deny` is "put": expected an array of commands'],
    [{ deny: ['quit'] }, 'unknown command `quit` in `deny`: expected one of put, peek'],
    [{ deny: ['pause'] }, 'unknown command `pause`'],
  ])('with %j is refused', async (options, message) => {
    const node = await open();
    await expect(node.listen(options as ListenOptions)).rejects.toMatchObject({
      code: 'DQ_CONFIG',
      message: expect.stringContaining(message),
    });
  });

  it('accepts a bounded number of connections at once, closes each further one, and warns once', async () => {
    const warnings: string[] = [];
    const { address } = await listening(
      { maxConnections: 2 },
      { warn: (message) => void warnings.push(message) },
    );
    const [a, b] = [await Caller.call(address), await Caller.call(address)];
    await a.says(PUT, 'INSERTED 1\r\n');
    await (await Caller.call(address)).hearsEnd();
    await (await Caller.call(address)).hearsEnd();
    expect(warnings).toEqual([
      `rejected a connection on 127.0.0.1:${address.port}: 2 connections are open, the limit of \`maxConnections\``,
    ]);
    await b.says('reserve\r\n', 'RESERVED 1 1\r\nx\r\n');
    b.socket.end();
    await b.ended;
    await (await Caller.call(address)).says(PUT, 'INSERTED 2\r\n');
  });

  it('makes only a client that does not read its replies wait', async () => {
    const { address } = await listening();
    const [deaf, caller] = [await Caller.call(address), await Caller.call(address)];
    const body = 'x'.repeat(60_000);
    await caller.says(`put 0 0 60 ${body.length}\r\n${body}\r\n`, 'INSERTED 1\r\n');
    deaf.socket.pause();
    const asked = 20_000; // 1.2 GB of replies
    deaf.socket.write('peek 1\r\n'.repeat(asked));
    const answered = await untilStill(() => peeks(address));
    expect(answered * body.length).toBeLessThan(50e6); // what the kernel's buffers of a loopback connection take, and ours
    await caller.says('peek 1\r\n', `FOUND 1 ${body.length}\r\n${body}\r\n`);
  });
});

describe('closing', () => {
  it('flushes its replies to the clients, ends their connections, and frees the port', async () => {
    const { node, address } = await listening();
    const [asking, waiting] = [await Caller.call(address), await Caller.call(address)];
    waiting.socket.write('reserve-with-timeout 60\r\n');
    await asking.says(PUT, 'INSERTED 1\r\n');
    await waiting.hears('RESERVED 1 1\r\nx\r\n');
    await Promise.all([node.close(), node.close()]);
    await Promise.all([asking.hearsEnd(), waiting.hearsEnd()]);
    await listening({ port: address.port });
  });

  it('cuts no reply in the middle', async () => {
    const { node, address } = await listening();
    const [slow, caller] = [await Caller.call(address), await Caller.call(address)];
    const body = 'x'.repeat(60_000);
    const reply = `FOUND 1 ${body.length}\r\n${body}\r\n`;
    await caller.says(`put 0 0 60 ${body.length}\r\n${body}\r\n`, 'INSERTED 1\r\n');
    slow.socket.pause();
    slow.socket.write('peek 1\r\n'.repeat(5_000));
    await untilStill(() => peeks(address));
    const closed = node.close();
    slow.socket.resume();
    await closed;
    await slow.ended;
    const { bytesRead } = slow.socket;
    expect(bytesRead).toBeGreaterThan(10 * reply.length);
    expect(bytesRead % reply.length).toBe(0);
  });

  it('cuts off whoever stays', async () => {
    const { node, address } = await listening();
    const caller = await Caller.call(address, { stays: true });
    await caller.says(PUT, 'INSERTED 1\r\n');
    await node.close();
    await caller.hearsEnd();
  });

  it('ends later connections', async () => {
    const { node: first, address } = await listening();
    await first.close();
    const node = await open();
    const listened = node.listen(address);
    const closed = node.close();
    await expect(listened).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await closed;
    await listening(address);
    await expect(node.listen({ port: 0 })).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    const [error] = await once(node.dial(), 'error');
    expect(error).toMatchObject({ code: 'DQ_CLOSED' });
  });
});

async function ask(address: ListenAddress, command: string): Promise<string> {
  const socket = connect({ host: address.host, port: address.port });
  let heard = '';
  socket.setEncoding('latin1').on('data', (text: string) => (heard += text));
  socket.end(`${command}\r\n`);
  await once(socket, 'close');
  return heard;
}

async function peeks(address: ListenAddress): Promise<number> {
  return Number(/\ncmd-peek: (\d+)\n/.exec(await ask(address, 'stats'))?.[1]);
}

/** The number once it has begun to grow and grows no more. */
async function untilStill(count: () => Promise<number>): Promise<number> {
  let before = 0;
  let now = await count();
  while (now === 0 || now !== before) [before, now] = [now, await count()];
  return now;
}
