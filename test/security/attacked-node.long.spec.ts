import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from 'test-servers';
import { NestDqProcess } from '../cli/nest-dq-process.js';
import { Peer } from '../support/peer.js';
import { witness } from '../support/witness.js';

jest.setTimeout(120_000);

const MB = 1_000_000;
/** Bytes that a node has by itself, and what the garbage of an attack may add before it is collected. */
const NODE = 500 * MB;

const sockets: Socket[] = [];
let node: NestDqProcess | undefined;

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  node?.kill('SIGKILL');
  await node?.ended;
  node = undefined;
});

async function serve(...flags: string[]): Promise<number> {
  node = new NestDqProcess(['serve', '--port=0', ...flags]);
  return node.port();
}

async function dial(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  sockets.push(socket);
  socket.on('error', () => undefined); // it may be cut at any time
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  return socket;
}

/** Opens `count` connections, all at once. */
const dialMany = (port: number, count: number): Promise<Socket[]> =>
  Promise.all(Array.from({ length: count }, () => dial(port)));

/** Writes for as long as somebody reads, and the connection stands; resolves also when nobody does. */
async function pour(socket: Socket, parts: Iterable<string>): Promise<void> {
  const closed = new Promise((resolve) => socket.once('close', resolve));
  for (const part of parts) {
    if (socket.destroyed) return;
    if (socket.write(part, 'latin1')) continue;
    await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  }
}

function* repeated(part: string, times: number): Iterable<string> {
  for (let i = 0; i < times; i++) yield part;
}

/** Serves others during the attack as if they were alone, and survives it. Resolves once both are checked. */
async function during(port: number, attack: () => Promise<unknown>): Promise<void> {
  let isOver = false;
  let begins!: () => void;
  const begun = new Promise<void>((resolve) => (begins = resolve));
  const others = witness(
    () => dial(port),
    () => isOver,
    begins,
  );
  await Promise.race([begun, others]);
  const first = await Promise.race([attack().then(() => 'over'), others]);
  isOver = true;
  expect(first).toBe('over'); // the others do not end before, unless they fail
  expect(await others).toBeGreaterThanOrEqual(3);
  expect(node!.peakMemory()).toBeLessThan(NODE);
}

describe('a served node serves others, and its memory is bounded, while someone', () => {
  it('opens connections endlessly', async () => {
    const port = await serve('--max-connections=100');
    await during(port, async () => {
      for (let i = 0; i < 20; i++) {
        const many = await dialMany(port, 200);
        await eventually(
          'as many as may be are open',
          () => many.filter(({ closed }) => !closed).length <= 100,
        );
        for (const socket of many) socket.destroy();
      }
    });
    expect(node!.stderr).toContain('100 connections are open, the limit of `maxConnections`');
    expect(node!.stderr.split('\n').length).toBeLessThan(5);
  });

  it('begins bodies and does not end them', async () => {
    const port = await serve('--max-job-size=10000000', '--max-buffers=45000000');
    const part = 'x'.repeat(100_000);
    await during(port, async () => {
      const many = await dialMany(port, 100); // of a gigabyte in all
      await Promise.all(
        many.map((socket) => {
          socket.write('put 0 0 60 10000000\r\n');
          return pour(socket, repeated(part, 99));
        }),
      );
      await eventually('most are cut', () => many.filter(({ closed }) => closed).length > 80);
    });
    expect(node!.stderr).toContain(
      'closed a connection: all connections together buffered more than the 45000000 bytes',
    );
  });

  it('sends lines without an end', async () => {
    const port = await serve();
    await during(port, async () => {
      const many = await dialMany(port, 50);
      await Promise.all(many.map((socket) => pour(socket, repeated('x'.repeat(100_000), 50))));
    });
  });

  it('does not read replies, and is closed after a while, though it holds jobs', async () => {
    const port = await serve('--idle=4', '--max-buffers=20000000');
    const body = 'x'.repeat(60_000);
    const giver = new Peer(await dial(port));
    for (let id = 1; id <= 20; id++)
      await giver.says(`put 0 0 600 60000\r\n${body}\r\n`, `INSERTED ${id}\r\n`);
    await during(port, async () => {
      const many = await dialMany(port, 100);
      for (const [i, socket] of many.entries()) {
        socket.pause();
        void pour(socket, [i < 20 ? 'reserve\r\n' : '', ...repeated('peek 1\r\n'.repeat(1_000), 10)]);
      }
      const holders = async () => {
        const [, held] = /\ncurrent-jobs-reserved: (\d+)\n/.exec(
          await new Peer(await dial(port)).ask('stats'),
        )!;
        return Number(held);
      };
      await eventually('the jobs are back', async () => (await holders()) <= 1); // the other is of those who are served
    });
  });

  it('makes tubes endlessly', async () => {
    const port = await serve('--max-tubes=5000', '--max-watched=500');
    const watcher = new Peer(await dial(port));
    await watcher.says('watch mine\r\n', 'WATCHING 2\r\n');
    await during(port, async () => {
      const many = await dialMany(port, 20);
      await Promise.all(
        many.map((socket, i) => {
          socket.resume();
          const lines = Array.from({ length: 5_000 }, (_, j) => `watch t${i}-${j}\r\nuse u${i}-${j}\r\n`);
          return pour(socket, [...lines, 'quit\r\n']);
        }),
      );
      await eventually('their tubes are gone', () => many.every(({ closed }) => closed));
    });
    expect(node!.stderr).toContain('a client is watching 500 tubes, the limit of `maxWatched`');
    await watcher.says('watch other\r\n', 'WATCHING 3\r\n');
  });

  it('stores jobs endlessly: none is accepted above the limit, and none that is stored is lost', async () => {
    const port = await serve('--max-jobs=1000', '--max-memory=20000000');
    const others = new Peer(await dial(port));
    await others.says('use theirs\r\nput 0 0 60 1\r\nx\r\n', 'USING theirs\r\nINSERTED 1\r\n');
    const many = await dialMany(port, 20);
    await Promise.all(
      many.map((socket) =>
        pour(socket.resume(), [
          ...repeated(`put 0 0 60 60000\r\n${'x'.repeat(60_000)}\r\n`, 100),
          'quit\r\n',
        ]),
      ),
    );
    await eventually('all were answered', () => many.every(({ closed }) => closed));
    const [, jobs] = /\ncurrent-jobs-ready: (\d+)\n/.exec(await others.ask('stats'))!;
    expect(Number(jobs)).toBe(Math.floor((20 * MB - 301) / 60_300) + 1);
    await others.says('put 0 0 60 60000\r\n' + 'x'.repeat(60_000) + '\r\n', 'OUT_OF_MEMORY\r\n');
    await others.says(
      'watch theirs\r\nignore default\r\nreserve\r\ndelete 1\r\n',
      'WATCHING 2\r\nWATCHING 1\r\nRESERVED 1 1\r\nx\r\nDELETED\r\n',
    );
    expect(node!.peakMemory()).toBeLessThan(NODE);
  });
});
