import { describe, expect, it } from '@jest/globals';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { KqError } from '../errors.js';
import { resolveHandler } from './handler-options.js';
import { DEFAULT_LOG_LEVELS } from './log-levels.js';
import { resolveOptions, type KqOptions } from './options.js';

const A_DURATION =
  "expected milliseconds, or a number with a unit, such as '500ms', '30s', '15m', '1h30m', '2 days' or '1w'";

const logger = new CollectingLogger();

function refusal(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return error instanceof KqError ? error.message : String(error);
  }
  return 'it was not refused';
}

describe('the options of KqModule', () => {
  it('have defaults', () => {
    const { logger: _, pusher, ...rest } = resolveOptions({ logger });
    expect(rest).toEqual({
      brokers: undefined,
      forgotten: true,
      clientId: 'nest-kq',
      ssl: false,
      sasl: undefined,
      connectionTimeout: 5_000,
      requestTimeout: 30_000,
      driver: undefined,
      group: 'nest-kq',
      consume: true,
      sessionTimeout: 30_000,
      rebalanceTimeout: 30_000,
      groupInstanceId: undefined,
      commitEvery: 1_000,
      memory: 67_108_864,
      shutdownTimeout: 10_000,
      hooks: [],
      logLevels: DEFAULT_LOG_LEVELS,
    });
    expect(pusher.producer).toEqual({ patience: 30_000, compression: 'none', requestBytes: 1_000_000 });
  });

  it('take what is given', () => {
    const given = {
      brokers: ['a:9092', 'b:9093'],
      clientId: 'shop',
      ssl: { rejectUnauthorized: true },
      sasl: { mechanism: 'scram-sha-256', username: 'u', password: 'p' },
      connectionTimeout: 100,
      requestTimeout: 1_000,
      group: 'g',
      consume: false,
      sessionTimeout: 6_000,
      rebalanceTimeout: 60_000,
      groupInstanceId: 'shop-0',
      commitEvery: 0,
      shutdownTimeout: 0,
      logLevels: { ...DEFAULT_LOG_LEVELS, retries: 'off' },
    } as const;
    const resolved = resolveOptions({ ...given, pusher: { compression: 'gzip' }, logger });
    expect(resolved).toMatchObject({ ...given, forgotten: false });
    expect(resolved.pusher.producer.compression).toBe('gzip');
    expect(resolveOptions({ brokers: ['a:1'], logger }).group).toBeUndefined();
  });

  it.each<[Record<string, unknown>, string]>([
    [
      { brokers: undefined },
      "`brokers` is undefined: expected a list such as ['localhost:9092'], or 'memory'",
    ],
    [{ brokers: [] }, "`brokers` is []: expected a list such as ['localhost:9092'], or 'memory'"],
    [{ brokers: 'a:1' }, "`brokers` is 'a:1': expected a list such as ['localhost:9092'], or 'memory'"],
    [{ brokers: ['a'] }, "`brokers[0]` is 'a': expected host:port, such as localhost:9092"],
    [
      { brokers: ['a:1', 'kafka://b:1'] },
      "`brokers[1]` is 'kafka://b:1': expected host:port, such as localhost:9092",
    ],
    [{ brokers: ['a:65536'] }, "`brokers[0]` is 'a:65536': expected host:port, such as localhost:9092"],
    [{ brokers: ['a:1', 'a:1'] }, "`brokers` has 'a:1' twice: expected each broker once"],
    [
      { brokers: ['a:1'], driver: 'confluent' },
      "`driver` is 'confluent': expected a driver factory, such as confluent(…) of nest-kq/confluent",
    ],
    [{ driver: () => {} }, '`driver` is set without `brokers`: expected both'],
    [{ ssl: true }, '`ssl` is set without `brokers`: expected both'],
    [
      { brokers: ['a:1'], ssl: 'yes' },
      "`ssl` is 'yes': expected true, false, or options of Node's tls.connect",
    ],
    [
      { brokers: ['a:1'], sasl: { mechanism: 'md5', username: 'u', password: 'p' } },
      "`sasl.mechanism` is 'md5': expected one of plain, scram-sha-256, scram-sha-512, oauthbearer",
    ],
    [
      { brokers: ['a:1'], sasl: { mechanism: 'plain', username: '', password: 'p' } },
      "`sasl.username` is '': expected a non-empty string",
    ],
    [
      { brokers: ['a:1'], sasl: { mechanism: 'plain', username: 'u', password: 7 } },
      '`sasl.password`: expected a non-empty string',
    ],
    [{ group: ' ' }, "`group` is ' ': expected a non-empty string"],
    [{ consume: 1 }, '`consume` is 1: expected true or false'],
    [{ commitEvery: -1 }, `\`commitEvery\` is -1: negative; ${A_DURATION}`],
    [{ commitEvery: '61s' }, "`commitEvery` is '61s': expected 0 ms to 1 minute"],
    [{ sessionTimeout: '30' }, `\`sessionTimeout\` is '30': no unit; ${A_DURATION}`],
    [{ sessionTimeout: '5s' }, "`sessionTimeout` is '5s': expected 6 seconds to 30 minutes"],
    [
      { groupInstanceId: 'shop 0' },
      "`groupInstanceId` is 'shop 0': expected 1 to 249 characters of A-Z a-z 0-9 . _ -, and not . or ..",
    ],
    [{ rebalanceTimeout: '4s' }, "`rebalanceTimeout` is '4s': expected 5 seconds to 1 hour"],
    [{ pusher: { patience: '2h' } }, "`pusher`: `patience` is '2h': expected 0 ms to 1 hour"],
    [{ logger: {} }, '`logger` is {}: expected an object with the methods log, warn and error'],
    [
      { hooks: [{ onPull: () => undefined }] },
      '`hooks[0]` is { onPull: [Function: onPull] }: expected a list of objects with at least one of the methods onPush, aroundPush, ' +
        'aroundHandler, onStart',
    ],
    [{ logLevels: 'off' }, "`logLevels` is 'off': expected an object such as { retries: 'debug' }"],
    [
      { logLevels: { retries: 'silent' } },
      "`logLevels.retries` is 'silent': expected one of fatal, error, warn, log, debug, verbose, off",
    ],
    [
      { logLevels: { retry: 'off' } },
      "there is no `logLevels.retry` (given 'off'): expected one of retries, discards, deadLetters, held, joins, " +
        'groups, rebalances, pushes',
    ],
    [
      { logLevels: { retries: 'verbose' }, logger },
      "`logLevels.retries` is 'verbose': expected a level with a method in `logger`",
    ],
    [
      { name: 'a' },
      '`name` identifies the cluster, so pass it next to `useFactory`, not in what that returns',
    ],
    [
      { broker: ['a:1'] },
      'there is no `broker` in the options of KqModule: expected one of brokers, clientId, ssl, sasl, rack, ' +
        'connectionTimeout, requestTimeout, driver, group, consume, pusher, sessionTimeout, rebalanceTimeout, groupInstanceId, commitEvery, memory, shutdownTimeout, ' +
        'hooks, logger, logLevels',
    ],
  ])('refuse %j', (options, fact) => {
    expect(refusal(() => resolveOptions(options as KqOptions))).toBe(`KQ_CONFIG: ${fact}`);
  });

  it.each<[string, object]>([
    ['a login as `brokers`', { brokers: 'u:s3cret@h' }],
    ['a login in `brokers`', { brokers: ['u:s3cret@h:1'] }],
    ['a URL in `brokers`', { brokers: ['kafka://u:s3cret@h:1'] }],
    ['`sasl` that is a password', { brokers: ['a:1'], sasl: 's3cret' }],
    [
      'a token that is no function',
      { brokers: ['a:1'], sasl: { mechanism: 'oauthbearer', token: 's3cret' } },
    ],
    ['a token along with a password', { brokers: ['a:1'], sasl: { mechanism: 'plain', token: 's3cret' } }],
    ['`ssl` that is a list with a login', { brokers: ['a:1'], ssl: ['u:s3cret@h'] }],
  ])('never show a secret: %s', (_door, options) => {
    const message = refusal(() => resolveOptions(options as KqOptions));
    expect(message).toMatch(/^KQ_CONFIG: /);
    expect(message).not.toContain('s3cret');
  });

  it('never show the password', () => {
    const wrong = { mechanism: 'plain', username: 'u', password: 'secret', realm: 'secret' };
    expect(() => resolveOptions({ brokers: ['a:1'], sasl: wrong as never })).toThrow(
      'KQ_CONFIG: there is no `realm` in the options of `sasl`: expected one of mechanism, username, password',
    );
  });
});

describe('the options of a handler', () => {
  it('have defaults', () => {
    expect(resolveHandler('orders', undefined, 'g')).toMatchObject({
      topics: ['orders'],
      group: 'g',
      concurrency: 16,
      order: 'key',
      from: 'first',
      batch: undefined,
      failures: { attempts: 3, through: undefined, timeout: undefined },
    });
    expect(resolveHandler(['a', /^b/], { group: 'h', batch: { size: 5 } }, 'g')).toMatchObject({
      topics: ['a', /^b/],
      group: 'h',
      batch: { size: 5, within: 100 },
    });
  });

  it.each<[unknown, unknown, string]>([
    ['a b', {}, "the topic is 'a b': expected 1 to 249 characters of A-Z a-z 0-9 . _ -, and not . or .."],
    [7, {}, 'the topic is 7: expected 1 to 249 characters of A-Z a-z 0-9 . _ -, and not . or ..'],
    [[], {}, 'the list of topics is []: expected at least one'],
    ['t', { concurrency: 0 }, '`concurrency` is 0: expected a whole number from 1 to 10000'],
    ['t', { order: 'keys' }, "`order` is 'keys': expected one of key, partition, none"],
    ['t', { from: 'latest' }, "`from` is 'latest': expected one of first, last"],
    ['t', { batch: 5 }, 'the options of `batch` are 5: expected an object with size, within'],
    ['t', { batch: { size: 0 } }, '`batch.size` is 0: expected a whole number from 1 to 10000'],
    [
      't',
      { deadLetter: 't' },
      "`deadLetter` is 't': expected a topic the handler does not consume itself, as it does 't'",
    ],
    [
      't',
      { retries: 5 },
      'there is no `retries` in the options of the handler: expected one of group, concurrency, order, lookAhead, batch, ' +
        'from, timeout, retry, deadLetter, cluster',
    ],
  ])('refuse %j with %j', (topics, options, fact) => {
    expect(refusal(() => resolveHandler(topics, options as object, 'g'))).toBe(`KQ_CONFIG: ${fact}`);
  });
});
