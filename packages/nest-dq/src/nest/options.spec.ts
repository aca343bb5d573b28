import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { DqError } from '../errors.js';
import { defaultLogger } from './default-logger.js';
import { resolveOptions as resolve, type DqAdvancedOptions, type DqOptions } from './options.js';

const LOGGER = defaultLogger();
const redis = 'redis://localhost';
const beanstalks = ['10.0.0.1:11300', '10.0.0.2:11300', '10.0.0.3:11300', '10.0.0.4:11300'];

const resolveOptions = (options: DqOptions, cluster?: string) => resolve(options, LOGGER, cluster);

/** The message of the refusal; options come from JavaScript and from the environment too, so they are not typed. */
function refusal(options: unknown): string {
  try {
    resolveOptions(options as DqOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(DqError);
    expect((error as DqError).code).toBe('DQ_CONFIG');
    return (error as DqError).message;
  }
  throw new Error('it was not refused');
}

describe('the options', () => {
  it('need not be given: one embedded node, and the defaults', () => {
    expect(resolveOptions({})).toEqual({
      advise: true,
      memory: false,
      oneCopyWanted: false,
      servers: undefined,
      replicas: 1,
      minWritten: 1,
      backupDelay: 2_000,
      patience: 5_000,
      prefix: '',
      consume: true,
      handlers: {
        concurrency: 10,
        attempts: 10,
        backoff: { type: 'exponential', delay: 2_000, max: 3_600_000, jitter: 0.2 },
      },
      shutdownTimeout: 10_000,
      lease: 15_000,
      doneTtl: 600_000,
      staleAfter: 604_800_000,
      deadLetters: { maxAge: 30 * 86_400_000, maxCount: 10_000 },
      mostIndexed: 0,
      repair: true,
      keepErrors: true,
      clusterEvents: false,
      keepDone: undefined,
      lateAfter: 1_000,
      hooks: [],
      logger: expect.any(Object),
      logLevels: { retries: 'warn', discards: 'warn', deadLetters: 'error', servers: 'warn' },
    });
  });

  it('may be undefined one by one, except the servers', () => {
    const nothing = {
      deadLetters: { maxAge: undefined },
      replicas: undefined,
      advanced: { lease: undefined },
      handlers: undefined,
      logger: undefined,
    };
    expect(resolveOptions(nothing)).toEqual({ ...resolveOptions({}), logger: expect.any(Object) });
  });

  it('take a folder for the embedded node, below the working directory unless it is absolute', () => {
    const folderOf = (embedded: DqOptions['embedded']) => resolveOptions({ embedded }).folder;
    expect(folderOf({ dir: './data' })).toEqual({
      dir: join(process.cwd(), 'data'),
      patience: 15_000,
      minFree: 64 * 1024 * 1024,
    });
    expect(folderOf({ dir: '/var/lib/dq', patience: 0, minFree: 0 })).toEqual({
      dir: '/var/lib/dq',
      patience: 0,
      minFree: 0,
    });
    expect(resolveOptions({ embedded: {} })).toMatchObject({ folder: undefined, memory: false });
    expect(resolveOptions({ embedded: 'memory' })).toMatchObject({ folder: undefined, memory: true });
    expect(resolveOptions({ embedded: undefined }).folder).toBeUndefined();
  });

  it('take a doneTtl that lasts until each copy would be stale: twice `staleAfter`, and a minute', () => {
    const doneTtlOf = (advanced: DqAdvancedOptions) =>
      resolveOptions({ advanced: { doneTtl: 'untilStale', ...advanced } }).doneTtl;
    expect(doneTtlOf({ staleAfter: '1h' })).toBe(7_260_000);
    expect(doneTtlOf({ staleAfter: '1m', lease: '1m' })).toBe(240_000); // four leases
  });

  it('take the nodes, with the default number of copies', () => {
    const { servers, replicas, minWritten } = resolveOptions({ beanstalks, redis });
    expect({ replicas, minWritten }).toEqual({ replicas: 3, minWritten: 2 });
    expect(servers).toMatchObject({ redis, goQueueRedis: redis });
    expect(servers?.beanstalks[0]).toEqual({
      text: '10.0.0.1:11300',
      address: { host: '10.0.0.1', port: 11300 },
      tls: false,
    });
  });

  it('shrink the number of copies to the nodes there are', () => {
    const two = resolveOptions({ beanstalks: ['a:1', 'b:1'], redis });
    expect(two).toMatchObject({ replicas: 2, minWritten: 2 });
    expect(resolveOptions({ beanstalks: ['a:1'], redis })).toMatchObject({ replicas: 1, minWritten: 1 });
    expect(resolveOptions({ beanstalks, redis, replicas: 1 })).toMatchObject({ replicas: 1, minWritten: 1 });
  });

  it('take what is given', () => {
    const logger = new CollectingLogger();
    const given = {
      beanstalks,
      redis: { host: '10.0.0.9' },
      replicas: 4,
      minWritten: 3,
      advanced: { backupDelay: '3s', lease: '1m', doneTtl: '5m', staleAfter: '1d' },
      prefix: 'shop.',
      consume: false,
      handlers: { concurrency: 3 },
      shutdownTimeout: 0,
      deadLetters: { maxAge: '7d' },
      logger,
    } satisfies DqOptions;
    expect(resolveOptions(given)).toMatchObject({
      replicas: 4,
      minWritten: 3,
      backupDelay: 3_000,
      prefix: 'shop.',
      consume: false,
      handlers: { concurrency: 3, attempts: 10 },
      shutdownTimeout: 0,
      lease: 60_000,
      doneTtl: 300_000,
      staleAfter: 86_400_000,
      deadLetters: { maxAge: 604_800_000, maxCount: 10_000 },
    });
    resolveOptions(given).logger.warn('a line');
    expect(logger.lines).toEqual([{ level: 'warn', message: 'a line' }]);
  });

  it('take levels one by one, and those of Nest that the logger has', () => {
    const logLevels = { retries: 'verbose', discards: undefined, servers: 'off' } as const;
    expect(resolveOptions({ logLevels }).logLevels).toEqual({
      retries: 'verbose',
      discards: 'warn',
      deadLetters: 'error',
      servers: 'off',
    });
  });

  it.each(['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const)(
    'lead to the method %s of the logger, in a cluster with a name too',
    (level) => {
      const told: unknown[] = [];
      const none = () => undefined;
      const own = (message: unknown) => void told.push(message);
      const { logger } = resolveOptions(
        { logger: { log: none, warn: none, error: none, [level]: own } },
        'mails',
      );
      logger[level]?.('a line');
      expect(told).toEqual(['[mails] a line']);
    },
  );

  const servers = { beanstalks, redis };

  it.each<[unknown, string]>([
    [undefined, 'undefined: expected an object'],
    [{ beanstalks: undefined, redis }, '`beanstalks` is undefined: expected a non-empty array'],
    [{ beanstalks: [], redis }, '`beanstalks` is []: expected a non-empty array'],
    [{ beanstalks: 'a:1,b:1', redis }, '`beanstalks` is "a:1,b:1": expected a non-empty array'],
    [{ beanstalks: ['a:1', 'A:1'], redis }, '`beanstalks[1]` is "A:1": expected each node once'],
    [{ beanstalks: ['a:1', 'b'], redis }, '`beanstalks[1]` is "b": expected \'host:port\''],
    [{ beanstalks: [11300], redis }, "`beanstalks[0]` is 11300: expected 'host:port'"],
    [{ beanstalks: ['unix:/run/b', 'unix:/run/b'], redis }, 'is "unix:/run/b": expected each node once'],
    [{ ...servers, tls: {} }, '`tls` is set, but no node in `beanstalks` uses TLS: expected tls://'],
    [{ tls: { ca: '' } }, '`tls` is set, but no node in `beanstalks` uses TLS'],
    [{ beanstalks }, '`beanstalks` is set without `redis`'],
    [{ redis }, '`redis` is set without `beanstalks`'],
    [{ beanstalks, redis: undefined }, '`redis` is undefined: expected a URL'],
    [{ redis: undefined }, '`redis` is undefined: expected a URL'],
    [{ ...servers, goQueue: { redis, db: 1 } }, '`goQueue` is "redis,db": expected { redis }'],
    [{ beanstalks, redis: 'http://:secret@a:1' }, '`redis` has the scheme http: expected redis:'],
    [{ beanstalks, redis: '10.0.0.9' }, '`redis` is "10.0.0.9": expected redis://'],
    [{ beanstalks, redis: 'localhost:6379' }, '`redis` is "localhost:6379": expected redis://'],
    [{ beanstalks, redis: 'redis:10.0.0.9' }, '`redis` is "redis:10.0.0.9": expected redis://'],
    [{ beanstalks, redis: 'not a url' }, '`redis` is "…": expected redis://'],
    [{ beanstalks, redis: 'redis://' }, '`redis` is "redis://": expected redis://'],
    [{ beanstalks, redis: 'redis://a:99999' }, '`redis` is "redis://a:99999": expected redis://'],
    [{ beanstalks, redis: 'redis://a/jobs' }, '`redis` is "redis://a/jobs": expected redis://'],
    [{ beanstalks, redis: 'redis://:secret#@a:1' }, '`redis` is "redis://…": expected redis://'],
    [{ beanstalks, redis: 'redis://:100%secret@a:1' }, '`redis` is "redis://…": expected redis://'],
    [{ beanstalks, redis: 'redis:a?password=secret' }, '`redis` is "redis:…": expected redis://'],
    [{ beanstalks, redis: ':secret@a:1' }, '`redis` is "…": expected redis://'],
    [{ beanstalks, redis: { host: 'a', db: -1 } }, '`redis.db` is -1: expected a database number, 0 or more'],
    [{ beanstalks, redis: {} }, '`redis` names no server: expected `host`, `path` or `sentinels`, or a URL'],
    [{ beanstalks, redis: { db: 2 } }, '`redis` names no server'],
    [
      { beanstalks, redis: { host: undefined } },
      '`redis.host` is undefined: expected a host name or address',
    ],
    [{ beanstalks, redis: { host: '' } }, '`redis.host` is "": expected a host name or address'],
    [
      { beanstalks, redis: { host: 'a', port: 'abc' } },
      '`redis.port` is "abc": expected a port from 1 to 65535',
    ],
    [{ beanstalks, redis: { host: 'a', port: undefined } }, '`redis.port` is undefined: expected a port'],
    [{ beanstalks, redis: { host: 'a', port: 65_536 } }, '`redis.port` is 65536: expected a port'],
    [{ beanstalks, redis: { host: 'a', family: 5 } }, '`redis.family` is 5: expected 4, 6 or 0 for both'],
    [{ beanstalks, redis: { path: 5 } }, '`redis.path` is 5: expected the path of a Unix socket'],
    [{ beanstalks, redis: { host: 'a', password: 42 } }, '`redis.password` is a number: expected a string'],
    [{ beanstalks, redis: { host: 'a', tls: 'secret' } }, '`redis.tls` is "string": expected an object'],
    [
      { beanstalks, redis: { url: 'redis://:secret@a' } },
      'unknown option `redis.url`: expected the URL itself instead of the object',
    ],
    [{ beanstalks, redis: { hots: 'a' } }, 'unknown option `redis.hots`: expected `host`'],
    [
      { beanstalks, redis: { host: 'a', passwort: 'secret' } },
      'unknown option `redis.passwort`: expected `password`',
    ],
    [
      { beanstalks, redis: { host: 'a', constructor: 1 } },
      'unknown option `redis.constructor`: expected an ioredis option',
    ],
    [
      { beanstalks, redis: { socket: { host: 'a' } } },
      'unknown option `redis.socket`: expected `host` and `port`',
    ],
    [{ beanstalks, redis: [{ host: 'a' }] }, 'unknown option `redis.0`: expected an ioredis option'],
    [
      { beanstalks, redis: 'redis://a?familly=6' },
      'the option "familly" in its query, which is unknown to ioredis: expected `family`',
    ],
    [
      { beanstalks, redis: { sentinels: [{ host: 's' }] } },
      "`redis.name` is undefined: expected the sentinels' name",
    ],
    [
      { beanstalks, redis: { sentinels: [], name: 'm' } },
      '`redis.sentinels` is []: expected a non-empty array of { host, port }',
    ],
    [
      { beanstalks, redis: { sentinels: ['s'], name: 'm' } },
      '`redis.sentinels[0]` is "s": expected { host, port }',
    ],
    [
      { beanstalks, redis: { sentinels: [{ port: 1 }], name: 'm' } },
      '`redis.sentinels[0].host` is undefined',
    ],
    [{ beanstalks, redis: { host: 'a', name: 'm' } }, '`redis.name` is set without `redis.sentinels`'],
    [
      { beanstalks, redis: { duplicate: () => undefined, options: {}, isOpen: false } },
      '`redis` is a client of node-redis (the package redis): expected an ioredis client',
    ],
    [
      { beanstalks, redis: { duplicate: () => undefined } },
      '`redis` is not an ioredis client: expected an ioredis client',
    ],
    [
      { ...servers, goQueue: { redis: { hots: 'a' } } },
      'unknown option `goQueue.redis.hots`: expected `host`',
    ],
    [
      { beanstalks, redis: { sentinels: [{ host: 's' }], name: 'm', tls: {} } },
      '`redis` has `tls` and `sentinels`, a combination in which ioredis ignores `tls`: expected `enableTLSForSentinelMode: true`',
    ],
    [{ beanstalks, redis: '' }, '`redis` is empty: expected a URL'],
    [{ beanstalks, redis: 6379 }, '`redis` is a number: expected a URL'],
    [{ ...servers, replicas: 5 }, '`replicas` is 5: expected 1 to 4 (the number of nodes)'],
    [{ replicas: 2 }, '`replicas` is 2: expected 1 (the number of nodes)'],
    [{ ...servers, replicas: 0 }, '`replicas` is 0: expected 1 to 4'],
    [{ ...servers, replicas: 1.5 }, '`replicas` is 1.5: expected 1 to 4'],
    [{ ...servers, minWritten: 4 }, '`minWritten` is 4: expected 1 to 3 (the number of replicas)'],
    [{ ...servers, minWritten: 0 }, '`minWritten` is 0: expected 1 to 3'],
    [{ advanced: { backupDelay: 999 } }, '`advanced.backupDelay` is 999: expected 1000 ms or more'],
    [{ advanced: { lease: '2s' } }, '`advanced.lease` is "2s": expected 3000 ms or more'],
    [{ advanced: { lease: '15' } }, '`advanced.lease` is "15": no unit'],
    [{ advanced: { lease: null } }, '`advanced.lease` is null: neither a number nor a string'],
    [{ advanced: { doneTtl: '59s' } }, '`advanced.doneTtl` is "59s": expected 60000 ms or more'],
    [
      { advanced: { lease: '20s', doneTtl: '79s' } },
      '`advanced.doneTtl` is 79000 ms: expected 80000 ms or more, which is four leases of 20000',
    ],
    [{ lateAfter: '5' }, '`lateAfter` is "5": no unit'],
    [{ hooks: {} }, '`hooks` is {}: expected a list of objects with at least one of the methods onSchedule'],
    [{ hooks: [{}] }, '`hooks[0]` is {}: expected a list of objects'],
    [{ hooks: [{ onSchedule: 5 }] }, '`hooks[0]` is {"onSchedule":5}: expected'],
    [{ advanced: { staleAfter: 1 } }, '`advanced.staleAfter` is 1: expected 60000 ms or more'],
    [{ index: 'yes' }, '`index` is "yes": expected true, false, or an object such as { most: 1_000_000 }'],
    [{ index: null }, '`index` is null: expected true, false, or an object'],
    [{ index: { most: -1 } }, '`index.most` is -1: expected a whole number from 0 to 100000000'],
    [{ index: { most: '5' } }, '`index.most` is "5": expected a whole number'],
    [{ advanced: 5 }, '`advanced` is 5: expected an object'],
    [
      { advanced: { leese: '5s' } },
      'unknown `advanced.leese`: expected one of backupDelay, lease, doneTtl, staleAfter',
    ],
    [{ lease: '15s' }, 'unknown option `lease`: use `advanced.lease`'],
    [{ drainLimit: '10s' }, 'unknown option `drainLimit`: use `shutdownTimeout`'],
    [{ repair: 'auto' }, '`repair` is "auto": expected true or false'],
    [{ index: { max: 5 } }, '`index.max` (given 5)'],
    [{ keepDone: true }, '`keepDone` is true: expected an object such as { for: '],
    [{ deadLetters: '30d' }, '`deadLetters` is "30d": expected an object such as { maxAge: '],
    [{ deadLetters: [] }, '`deadLetters` is []: expected an object'],
    [{ deadLetters: { maxAge: '30' } }, '`deadLetters.maxAge` is "30": no unit'],
    [{ deadLetters: { maxAge: '59s' } }, '`deadLetters.maxAge` is "59s": expected 60000 ms or more'],
    [{ deadLetters: { maxAge: Infinity } }, '`deadLetters.maxAge` is Infinity: not a finite number'],
    [{ deadLetters: { maxCount: 0 } }, '`deadLetters.maxCount` is 0: expected 1 to 1000000000 (the maximum'],
    [{ deadLetters: { maxCount: '9' } }, '`deadLetters.maxCount` is "9": expected 1 to 1000000000'],
    [
      { deadLetters: { age: '1d' } },
      'unknown `deadLetters.age` (given "1d"): expected one of maxAge, maxCount',
    ],
    [{ shutdownTimeout: -1 }, '`shutdownTimeout` is -1: negative'],
    [{ prefix: 'shop{1}' }, '`prefix` is "shop{1}": expected up to 199 of'],
    [{ prefix: '-shop' }, '`prefix` is "-shop"'],
    [{ prefix: 'x'.repeat(200) }, '`prefix` is "xxx'],
    [{ prefix: 1 }, '`prefix` is 1'],
    [{ consume: 'false' }, '`consume` is "false": expected true or false'],
    [{ handlers: { concurrency: 0 } }, '`handlers`: `concurrency` is 0: expected'],
    [{ handlers: { timeout: 0 } }, '`timeout` is 0: expected a duration longer than 0'],
    [{ handlers: { limit: { rate: 5 } } }, '`handlers`: `limit` is {"rate":5}: expected it on a handler'],
    [{ handlers: { cluster: 'x' } }, '`handlers`: unknown handler option `cluster`'],
    [{ logger: { log() {} } }, ': expected an object with the methods'],
    [{ logLevels: 'debug' }, '`logLevels` is "debug": expected an object such as'],
    [
      { logLevels: { nodes: 'warn' } },
      'unknown `logLevels.nodes` (given "warn"): expected one of retries, discards, ',
    ],
    [
      { logLevels: { retries: 'warning' } },
      '"warning": expected one of fatal, error, warn, log, debug, verbose, off',
    ],
    [
      { logger: { log() {}, warn() {}, error() {} }, logLevels: { retries: 'debug' } },
      '`logLevels.retries` is "debug": expected a level with a method in `logger`',
    ],
    [{ embedded: './data' }, '`embedded` is "./data": expected { dir: \'./data\' }'],
    [{ embedded: { dir: undefined } }, '`embedded.dir` is undefined: expected the path'],
    [{ embedded: { dir: ' ' } }, '`embedded.dir` is " ": expected the path to a folder'],
    [{ embedded: { patience: '1s' } }, '`embedded.patience` is set without `embedded.dir`'],
    [{ embedded: { minFree: 1 } }, '`embedded.minFree` is set without `embedded.dir`: it is the free space'],
    [
      { embedded: { dir: './data', minFree: '1g' } },
      '`embedded.minFree` is "1g": expected a number of bytes, 0',
    ],
    [{ embedded: { dir: './data', patience: 'long' } }, '`embedded.patience` is "long": not a duration'],
    [{ embedded: { path: './data' } }, 'unknown option `embedded.path`: expected { dir'],
    [{ ...servers, embedded: { dir: './data' } }, '`embedded` and `beanstalks` are both set'],
    [{ ...servers, embedded: 'memory' }, '`embedded` and `beanstalks` are both set'],
    [{ name: 'second' }, '`name` identifies the cluster, so pass it next to `useFactory`'],
    [
      { replica: 2 },
      'unknown option `replica` (given 2): expected one of beanstalks, tls, redis, goQueue, embedded, replicas',
    ],
  ])('refuse %j', (options, message) => {
    expect(refusal(options)).toContain(message);
  });

  it.each([
    [undefined, 1_000_000],
    [true, 1_000_000],
    [false, 0],
    [{}, 1_000_000],
    [{ most: 5 }, 5],
    [{ most: undefined }, 1_000_000],
  ])('take %j for the index of servers, and have none of an embedded node', (index, most) => {
    const given = { index } as DqOptions;
    expect(resolveOptions({ ...given, beanstalks, redis: 'redis://h' }).mostIndexed).toBe(most);
    expect(resolveOptions(given).mostIndexed).toBe(0);
  });

  it.each<[string, object]>([
    ['`redis` without an @', { beanstalks: ['a:1'], redis: 'redis//:s3cret' }],
    ['`redis` that is a password', { beanstalks: ['a:1'], redis: 's3cret' }],
    ['`seal` that is a key', { seal: 's3cret' }],
    ['`seal.current` that is a key', { seal: { keys: { a: 'ab'.repeat(32) }, current: 's3cret' } }],
    ['a key as a name in `seal.keys`', { seal: { keys: { ['s3cret/'.repeat(7)]: 'a' }, current: 'a' } }],
    ['a URL in `beanstalks`', { beanstalks: ['redis://u:s3cret@a:1'], redis: 'redis://a' }],
    ['a URL as `beanstalks`', { beanstalks: 'redis://:s3cret@a:1', redis: 'redis://a' }],
    ['a login in `goQueue`', { beanstalks: ['a:1'], redis: 'redis://a', goQueue: 'u:s3cret@a' }],
    ['an option that does not exist', { redisPassword: 's3cret' }],
    ['a prefix that is a URL', { prefix: 'redis://u:s3cret@a' }],
    ['a logger with fields', { logger: { password: 's3cret' } }],
  ])('never show a secret: %s', (_door, options) => {
    const message = refusal(options);
    expect(message).toMatch(/^DQ_CONFIG: /);
    expect(message).not.toContain('s3cret');
  });

  it('never show a password of Redis', () => {
    expect(refusal({ redis: 'redis://:secret@localhost' })).not.toContain('secret');
  });

  it.each(['redis://10.0.0.9', 'rediss://ann:s%40cret@cache.example:6380/2', 'REDIS://[::1]:6379/?family=6'])(
    'take %s for redis',
    (url) => {
      expect(resolveOptions({ beanstalks, redis: url }).servers?.redis).toBe(url);
    },
  );

  it('keep the refusal of a lower layer as the cause, and its code out of the message', () => {
    expect.assertions(2);
    try {
      resolveOptions({ advanced: { lease: 'soon' as '1s' } });
    } catch (error) {
      expect((error as DqError).cause).toMatchObject({ code: 'DQ_BAD_DURATION' });
      expect((error as DqError).message).not.toContain('DQ_BAD_DURATION');
    }
  });
});
