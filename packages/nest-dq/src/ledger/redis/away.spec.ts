import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { turn } from '../../../spec-support/scripted-ledger.js';
import { systemClock } from '../../time/clock.js';
import { VirtualClock } from '../../test-kit/virtual-clock.js';
import type { LedgerConnection } from './connection.js';
import type { RawReply } from './script.js';
import { RedisLedger } from './redis-ledger.js';
import { RedisMaster } from './master.js';

const settings = { lease: 15_000, doneTtl: 600_000, staleAfter: 604_800_000 };
const UNSENT = "Stream isn't writeable and enableOfflineQueue options is false";

describe('a master that is away', () => {
  let clock: VirtualClock;
  let master: RedisMaster;
  let reasons: string[];
  let reply: () => Promise<RawReply>;

  beforeEach(() => {
    clock = new VirtualClock();
    reasons = [];
    reply = () => Promise.reject(new Error(UNSENT));
    master = new RedisMaster({
      connection: { 'dq:probe': () => reply() } as unknown as LedgerConnection,
      probeKey: '',
      settings,
      clock,
      start: () => undefined,
      reconnect: () => undefined,
    });
    master.listen({ away: ({ message }) => reasons.push(message), back: () => undefined });
    master.start();
  });

  afterEach(() => master.close());

  const refusal = () => master.readTime().catch(({ message }: Error) => message);

  it('says why it is not connected, also after calls that were not sent', async () => {
    master.lost(new Error('connect ECONNREFUSED 10.0.0.9:6379'));
    await clock.advance(2_000);
    expect(await refusal()).toBe(
      'DQ_LEDGER_DOWN: Redis is not connected: connect ECONNREFUSED 10.0.0.9:6379',
    );
    expect(reasons).toEqual(['connect ECONNREFUSED 10.0.0.9:6379']);
  });

  it('says so before anything is known of a connection', async () => {
    await clock.advance(2_000);
    expect(await refusal()).toBe('DQ_LEDGER_DOWN: Redis is not connected: no connection stands yet');
  });

  it('names the failures of all addresses of its host', async () => {
    const failures = [new Error('connect ECONNREFUSED 127.0.0.1:1'), new Error('connect ECONNREFUSED ::1:1')];
    master.lost(new AggregateError(failures, ''));
    expect(await refusal()).toMatch(/not connected: connect .* 127\.0\.0\.1:1, connect .* ::1:1$/);
  });

  it('does not blame the connection where the server itself refuses, or is silent', async () => {
    reply = () => Promise.reject(new Error('LOADING Redis is loading the dataset in memory'));
    master.connected();
    await turn();
    expect(await refusal()).toMatch(/: Redis answered with an error: LOADING/);
    reply = () => new Promise(() => undefined);
    await clock.advance(2_000);
    expect(await refusal()).toBe('DQ_LEDGER_DOWN: Redis did not answer: no answer within 1000 ms');
  });

  it('names a node of a Redis Cluster that has no connection', async () => {
    master.connected();
    await turn();
    expect(await refusal()).toBe(
      'DQ_LEDGER_DOWN: Redis did not answer: a connection to one of its nodes is missing',
    );
  });
});

describe('a master that answers probes and refuses calls', () => {
  const MISCONF = 'MISCONF Redis is configured to save RDB snapshots, but is unable to persist to disk';
  let clock: VirtualClock;
  let master: RedisMaster;
  /** What each probe said of the jobs. */
  let probes: string[];
  let changes: number;
  let refuses: boolean;

  beforeEach(async () => {
    clock = new VirtualClock();
    [probes, changes, refuses] = [[], 0, true];
    const reply = async (): Promise<RawReply> => [1, clock.wall() * 1_000];
    const connection = {
      'dq:probe': (_count: number, _keys: string[], args: string[]) => {
        probes.push(args.at(-1)!);
        return reply();
      },
      'dq:complete': () => (refuses ? Promise.reject(new Error(MISCONF)) : reply()),
    } as unknown as LedgerConnection;
    const reconnect = () => undefined;
    master = new RedisMaster({
      connection,
      probeKey: '',
      settings,
      clock,
      start: () => undefined,
      reconnect,
    });
    const finish = () =>
      void master.call('dq:complete', ['{t}:a'], JSON.stringify(['finish'])).catch(() => undefined);
    master.listen({ away: () => changes++, back: () => changes < 100 && finish() });
    master.start();
    master.connected();
    await turn();
    finish();
    await turn();
  });

  afterEach(() => master.close());

  it('is asked ever more rarely, as long as that goes on', async () => {
    await clock.advance(60_000);
    // After 0.5, 1, 2, 4, 8, and then each 10 seconds.
    expect(changes).toBe(10);
    expect(probes).toHaveLength(10);
    refuses = false;
    await clock.advance(10_000);
    expect([changes, master.away]).toEqual([10, false]);
  });

  it('is asked by a probe as large as the call, until one of that size passes', async () => {
    await clock.advance(500);
    expect(probes.map((probe) => probe.length > 10)).toEqual([false, true]);
    refuses = false;
    await clock.advance(1_000);
    expect(probes.map((probe) => probe.length > 10)).toEqual([false, true, true]);
    await clock.advance(30_000);
    expect(probes.map((probe) => probe.length > 10)).toEqual([false, true, true, false]);
  });
});

it('a ledger whose Redis is not there shows the words of the connection, not those of ioredis', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const redis = { host: '127.0.0.1', port };
  const ledger = new RedisLedger({ redis, settings, clock: systemClock, warn: () => undefined });
  try {
    const away = new Promise<void>((resolve) => {
      ledger.listen({ away: () => resolve(), back: () => undefined });
    });
    ledger.start();
    await away;
    const call = ledger.tube('t').find(['01J']);
    await expect(call).rejects.toThrow(
      `DQ_LEDGER_DOWN: Redis is not connected: connect ECONNREFUSED 127.0.0.1:${port}`,
    );
  } finally {
    await ledger.close();
  }
});
