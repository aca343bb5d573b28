import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { turn } from '../../../spec-support/scripted-ledger.js';
import { VirtualClock } from '../../test-kit/virtual-clock.js';
import type { LedgerConnection } from './connection.js';
import type { RawReply } from './script.js';
import { RedisLedger } from './redis-ledger.js';
import { RedisMaster } from './master.js';

const settings = { lease: 15_000, doneTtl: 600_000, staleAfter: 604_800_000 };

describe('RedisMaster', () => {
  let clock: VirtualClock;
  let master: RedisMaster;
  let reconnects: number[];
  /** What waits for an answer, oldest first. */
  let calls: { answer(): void; refuse(message: string): void }[];

  beforeEach(() => {
    clock = new VirtualClock();
    reconnects = [];
    calls = [];
    const dqProbe = () =>
      new Promise<RawReply>((resolve, reject) =>
        calls.push({
          answer: () => resolve([1, clock.wall() * 1_000]),
          refuse: (message) => reject(new Error(message)),
        }),
      );
    master = new RedisMaster({
      connection: { 'dq:probe': dqProbe } as unknown as LedgerConnection,
      probeKey: '',
      settings,
      clock,
      start: () => undefined,
      reconnect: () => reconnects.push(clock.now()),
    });
    master.start();
    master.connected();
  });

  afterEach(() => master.close());

  const last = () => calls.at(-1)!;

  it('gives a connection up that says nothing for three seconds, although it is asked', async () => {
    await clock.advance(2_999);
    expect(master.away).toBe(true);
    expect(reconnects).toEqual([]);
    await clock.advance(1_501); // until the call fails that was sent before
    expect(reconnects).toHaveLength(1);
    expect(reconnects[0]).toBeGreaterThanOrEqual(3_000);
  });

  it('keeps one that answers now and then', async () => {
    for (let i = 0; i < 5; i++) {
      await clock.advance(1_500); // the first of them failed, the second waits
      expect(master.away).toBe(true);
      last().answer();
      await turn();
      expect(master.away).toBe(false);
      await clock.advance(30_000); // until the next is asked
    }
    expect(reconnects).toEqual([]);
  });

  it('keeps one whose server refuses', async () => {
    for (let i = 0; i < 20; i++) {
      last().refuse('LOADING Redis is loading the dataset in memory');
      await turn();
      await clock.advance(500);
    }
    expect(reconnects).toEqual([]);
  });

  it('begins to count anew with the next connection', async () => {
    await clock.advance(2_600);
    master.connected();
    await clock.advance(2_000);
    expect(reconnects).toEqual([]);
  });
});

describe('RedisLedger', () => {
  let server: Server;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  it('connects again where a server takes the connection and says nothing', async () => {
    const clock = new VirtualClock();
    const { port } = server.address() as AddressInfo;
    const ledger = new RedisLedger({
      redis: { host: '127.0.0.1', port },
      settings,
      clock,
      warn: () => undefined,
    });
    try {
      const first = once(server, 'connection');
      ledger.start();
      const [socket] = (await first) as [Socket];
      await once(socket, 'data'); // it was greeted
      const second = once(server, 'connection');
      await clock.advance(3_000);
      await second;
      expect(sockets).toHaveLength(2);
    } finally {
      await ledger.close();
    }
  });
});
