import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { deserialize, serialize } from 'node:v8';
import { ledgerConnection, type RedisSource } from '../redis/connection.js';
import { redisOf, threadSource } from './thread-source.js';

/** The connection a thread would open with this source. */
function inThread(source: RedisSource) {
  const told = threadSource(ledgerConnection(source));
  return ledgerConnection(redisOf(deserialize(serialize(told)) as typeof told));
}

describe('threadSource', () => {
  it.each<[string, RedisSource, object]>([
    [
      'a URL',
      'rediss://me:secret@redis.example:7000/3',
      { host: 'redis.example', port: 7000, username: 'me', password: 'secret', db: 3, tls: {} },
    ],
    ['options', { host: 'h', port: 7, password: 'p' }, { host: 'h', port: 7, password: 'p' }],
    ['a socket', { path: '/run/redis.sock' }, { path: '/run/redis.sock' }],
    [
      'sentinels',
      {
        name: 'mymaster',
        sentinels: [
          { host: 's1', port: 1 },
          { host: 's2', port: 2 },
        ],
        sentinelPassword: 'x',
      },
      {
        name: 'mymaster',
        sentinels: [
          { host: 's1', port: 1 },
          { host: 's2', port: 2 },
        ],
        sentinelPassword: 'x',
      },
    ],
    ['a client', new Redis('redis://h:8/1', { lazyConnect: true }), { host: 'h', port: 8, db: 1 }],
  ])('leads a thread to %s', (_what, source, expected) => {
    const connection = inThread(source);
    expect(connection.options).toMatchObject(expected);
    expect(connection.options).toMatchObject({ lazyConnect: true, enableOfflineQueue: false });
  });

  it('takes keys and certificates along', () => {
    const { tls } = inThread({ host: 'h', tls: { ca: Buffer.from('authority'), servername: 's' } })
      .options as {
      tls: { ca: Uint8Array; servername: string };
    };
    expect(Buffer.from(tls.ca).toString()).toBe('authority');
    expect(tls.servername).toBe('s');
  });

  it('leads a thread to a Redis Cluster', () => {
    const connection = inThread(
      new Cluster([{ host: 'h', port: 7000 }], {
        lazyConnect: true,
        redisOptions: { password: 'p', tls: {} },
        natMap: { '10.0.0.1:1': { host: 'a', port: 2 } },
      }),
    ) as Cluster;
    expect(connection.isCluster).toBe(true);
    expect(connection.options).toMatchObject({
      redisOptions: { password: 'p', tls: {} },
      natMap: { '10.0.0.1:1': { host: 'a', port: 2 } },
    });
  });

  it('does not need the retry strategy', () => {
    const retry = () => 5;
    const source = {
      host: 'h',
      retryStrategy: retry,
      reconnectOnError: () => true,
      sentinelRetryStrategy: retry,
    };
    expect(() => inThread(source)).not.toThrow();
  });

  it.each<[string, RedisSource, string]>([
    [
      'a function',
      { host: 'h', tls: { checkServerIdentity: () => undefined } },
      'the Redis option `tls.checkServerIdentity` is a function, which cannot be passed to a thread',
    ],
    [
      'a lookup of the user’s',
      new Cluster([{ host: 'h' }], { lazyConnect: true, dnsLookup: (address, done) => done(null, address) }),
      'the Redis option `dnsLookup` is a function',
    ],
    [
      'an object that is more than its values',
      { host: 'h', tls: { secureContext: new (class Context {})() as never } },
      'the Redis option `tls.secureContext` is a class instance',
    ],
  ])('names %s, which a thread cannot have', (_what, source, problem) => {
    expect(() => inThread(source)).toThrow(problem);
  });
});
