import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { VirtualClock } from 'nest-handlers/testing';
import { type Clock, systemClock } from 'nest-handlers/time';
import { RedisLedger } from './redis-ledger.js';

describe('RedisLedger', () => {
  let server: Server;
  let port: number;
  let ledger: RedisLedger;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });

  afterEach(async () => {
    await ledger.close();
    for (const socket of sockets.splice(0)) socket.destroy();
    await closed();
  });

  async function closed(): Promise<void> {
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  }

  const open = (clock: Clock) => {
    const settings = { lease: 15_000, doneTtl: 600_000, staleAfter: 604_800_000 };
    const redis = { host: '127.0.0.1', port };
    ledger = new RedisLedger({ redis, settings, clock, warn: () => undefined });
  };

  it('reconnects where a server accepts the connection and stays silent', async () => {
    const clock = new VirtualClock();
    open(clock);
    const first = once(server, 'connection');
    ledger.start();
    const [socket] = (await first) as [Socket];
    await once(socket, 'data'); // it was greeted
    const second = once(server, 'connection');
    await clock.advance(3_000);
    await second;
    expect(sockets).toHaveLength(2);
  });

  it('shows the words of the connection, not those of ioredis, where its Redis is not there', async () => {
    await closed();
    open(systemClock);
    const away = new Promise<void>((resolve) => {
      ledger.listen({ away: () => resolve(), back: () => undefined });
    });
    ledger.start();
    await away;
    const call = ledger.tube('t').find(['01J']);
    await expect(call).rejects.toThrow(
      `DQ_LEDGER_DOWN: Redis is not connected: connect ECONNREFUSED 127.0.0.1:${port}`,
    );
  });
});
