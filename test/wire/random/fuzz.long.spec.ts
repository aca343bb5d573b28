import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { EmbeddedNode, type ListenAddress } from 'nest-dq/embedded';
import { eventually } from 'test-servers';
import { Peer } from '../../support/peer.js';
import { witness } from '../../support/witness.js';
import { LIMIT, runsOf } from './runs.js';
import { streams } from './streams.js';

jest.setTimeout(LIMIT);

const PART = 'x'.repeat(65_536);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** One who says anything at all, in pieces of any size, and behaves as it likes: reads or does not, ends or does not. */
const rowdy = fc.record({
  pieces: streams,
  reads: fc.boolean(),
  size: fc.constantFrom(1, 10, 100, 10_000),
  end: fc.constantFrom('end', 'destroy', 'resetAndDestroy', undefined),
});
type Rowdy = typeof rowdy extends fc.Arbitrary<infer T> ? T : never;

async function dial(address: ListenAddress): Promise<Socket> {
  const socket = connect({ ...address, allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

async function riot(address: ListenAddress, { pieces, reads, size, end }: Rowdy): Promise<Socket> {
  const socket = await dial(address);
  socket.on('error', () => undefined); // the node may have ended what is written to
  if (reads) socket.resume();
  const ids = /(?<=(?:delete|release|bury|touch|kick-job|peek|stats-job|reserve-job) +)(?=\d)/g;
  const bytes = Buffer.from(pieces.join('').replaceAll(ids, '77777777'), 'latin1'); // nobody's
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    socket.write(bytes.subarray(at, at + size));
    if (at % 3 === 0) await new Promise(setImmediate);
  }
  if (end) socket[end]();
  return socket;
}

/** The node, after all of them. */
async function survives(rowdies: readonly Rowdy[]): Promise<void> {
  const node = await EmbeddedNode.open({ maxJobSize: 40 });
  const address = await node.listen({ port: 0 });
  let isOver = false;
  const witnessed = witness(
    () => dial(address),
    () => isOver,
  );
  const sockets = await Promise.all(rowdies.map((each) => riot(address, each)));
  isOver = true;
  expect(await witnessed).toBeGreaterThan(0);
  for (const socket of sockets) socket.destroy();
  const observer = new Peer(await dial(address));
  await eventually('all have left', async () =>
    (await observer.ask('stats')).includes('\ncurrent-connections: 1\n'),
  );
  expect(await observer.ask('stats')).toMatch(
    /^current-jobs-reserved: 0\n[^]*^current-producers: 0\ncurrent-workers: 0\ncurrent-waiting: 0\n/m,
  );
  observer.leave();
  await node.close();
}

describe('whatever comes, and however fast,', () => {
  it('the others are served as ever, and nothing is left of it', () => {
    const rowdies = fc.noBias(fc.array(rowdy, { minLength: 20, maxLength: 20 }));
    return fc.assert(fc.asyncProperty(rowdies, survives), runsOf(5));
  });

  it('who does not read the replies is not read any more, and others are', async () => {
    const node = await EmbeddedNode.open();
    const address = await node.listen({ port: 0 });
    const deaf = node.dial();
    const body = 'x'.repeat(60_000);
    deaf.write(`put 0 0 60 60000\r\n${body}\r\n`);
    const asked = Buffer.from('peek 1\r\n'.repeat(1_000));
    let accepted = 0;
    for (let written = 0; written < 1_000; written++) {
      deaf.write(asked, () => {
        accepted++;
      });
      if (written % 100 === 0)
        await witness(
          () => dial(address),
          () => true,
        );
    }
    expect(accepted).toBeLessThan(30);
    deaf.destroy();
    await node.close();
  });

  it('nothing is kept of a body that is too big, or of a line without an end', async () => {
    const node = await EmbeddedNode.open();
    const client = new Peer(node.dial());
    const used = () => process.memoryUsage().arrayBuffers;
    const before = used();
    let most = 0;
    let parts = 0;
    const send = async (size: number) => {
      for (let left = size; left > 0; left -= PART.length) {
        client.send(PART.slice(0, left));
        await client.flush();
        if (++parts % 100 > 0) continue;
        collectGarbage();
        most = Math.max(most, used() - before);
      }
    };
    client.send('put 0 0 60 99999998\r\n');
    await send(100_000_000);
    await client.hears('JOB_TOO_BIG\r\n');
    await send(100_000_000);
    expect(most).toBeLessThan(20_000_000);
    await client.says('\r\nlist-tube-used\r\n', 'BAD_FORMAT\r\nUSING default\r\n');
    await node.close();
  });
});
