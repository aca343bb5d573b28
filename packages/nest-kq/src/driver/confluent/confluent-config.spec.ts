import { describe, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { resolveClientOptions, type ClientOptions } from '../client-options.js';
import { adminConfig, memberConfig, outsiderConfig, producerConfig } from './confluent-config.js';
import { confluent } from './confluent-driver.js';

const settings = (over: Partial<ClientOptions> = {}) =>
  resolveClientOptions({
    brokers: ['a:1', 'b:2'],
    clock: systemClock,
    log: { debug: () => {}, warn: () => {}, error: () => {} },
    ...over,
  });

describe('the settings of librdkafka', () => {
  it('say where the brokers are, and who comes', () => {
    const sasl = { mechanism: 'scram-sha-512', username: 'ann', password: 'secret' } as const;
    expect(outsiderConfig(settings({ sasl, ssl: true }), 'g')).toMatchObject({
      'bootstrap.servers': 'a:1,b:2',
      'client.id': 'nest-kq',
      'group.id': 'g',
      'security.protocol': 'sasl_ssl',
      'sasl.mechanisms': 'SCRAM-SHA-512',
      'sasl.username': 'ann',
      'sasl.password': 'secret',
    });
    expect(adminConfig(settings())).toHaveProperty(['security.protocol'], 'plaintext');
  });

  it('contain the token provider, and refuse a token whose expiry is unknown', async () => {
    const configOf = (token: object) => {
      const sasl = { mechanism: 'oauthbearer', token: () => token as { value: string } } as const;
      return adminConfig(settings({ sasl })) as { oauthbearer_token_refresh_cb(): Promise<unknown> };
    };
    const config = configOf({ value: 't', lifetime: 5, principal: 'ann', extensions: { a: 'b' } });
    expect(config).toMatchObject({
      'security.protocol': 'sasl_plaintext',
      'sasl.mechanisms': 'OAUTHBEARER',
    });
    expect(config).not.toHaveProperty(['sasl.password']);
    await expect(config.oauthbearer_token_refresh_cb()).resolves.toEqual({
      tokenValue: 't',
      lifetime: 5,
      principal: 'ann',
      extensions: { a: 'b' },
    });
    await expect(configOf({ value: 's3cret' }).oauthbearer_token_refresh_cb()).rejects.toThrow(
      /^KQ_CONFIG: `lifetime` is missing in the result of `sasl.token`: expected/,
    );
  });

  it('have the certificates, and verify', () => {
    const ssl = { ca: [Buffer.from('one'), 'two'], cert: 'mine', key: 'my key' };
    const config = adminConfig(settings({ ssl }));
    expect(config).toMatchObject({
      'security.protocol': 'ssl',
      'ssl.ca.pem': 'one\ntwo',
      'ssl.certificate.pem': 'mine',
      'ssl.key.pem': 'my key',
      'enable.ssl.certificate.verification': true,
    });
    expect(config).not.toHaveProperty(['ssl.key.password']);
  });

  it.each([
    [
      { servername: 'x' },
      "`ssl` has 'servername', which Confluent's client does not support: expected only ca, cert",
    ],
    [{ ca: 7 as never }, '`ssl.ca` is 7: expected PEM as a string or Buffer'],
  ])('refuse %j', (ssl, fact) => {
    expect(() => adminConfig(settings({ ssl }))).toThrow(`KQ_CONFIG: ${fact}`);
  });

  it('try a message as long as the pusher wants, and never forever', () => {
    const timeout = (patience: number, transactionalId?: string) =>
      producerConfig(settings(), { transactionalId }, patience)['message.timeout.ms'];
    expect([timeout(5_000), timeout(0)]).toEqual([5_000, 1]);
    expect(timeout(3_600_000, 't')).toBe(60_000); // the brokers would abort the transaction
  });

  it('fetch ahead in bytes, and resume soon after a large backlog', () => {
    expect(memberConfig(settings(), { group: 'g', from: 'first' })).toMatchObject({
      'queued.max.messages.kbytes': 16_384,
      'queued.min.messages': 100_000, // of 160 bytes each; librdkafka counts those of all partitions
      'fetch.max.bytes': 16_777_216,
      'fetch.queue.backoff.ms': 10,
    });
  });

  it('have a heartbeat that the session and a rebalance outlive', () => {
    const config = (sessionTimeout: number, rebalanceTimeout: number) =>
      memberConfig(settings(), { group: 'g', from: 'first', sessionTimeout, rebalanceTimeout });
    expect(config(45_000, 60_000)).toMatchObject({
      'session.timeout.ms': 45_000,
      'heartbeat.interval.ms': 4_500,
      'max.poll.interval.ms': 60_000,
    });
    expect(config(45_000, 5_000)).toMatchObject({
      'session.timeout.ms': 45_000,
      'heartbeat.interval.ms': 500,
      'max.poll.interval.ms': 45_000,
    });
  });
});

describe('confluent', () => {
  class Client {}
  const module = { Producer: Client, KafkaConsumer: Client, AdminClient: { create: () => {} } };

  it('takes what the package exports, in both ways of importing it', () => {
    expect(confluent(module)).toBeInstanceOf(Function);
    expect(confluent({ default: module })).toBeInstanceOf(Function);
  });

  it.each([undefined, {}, { KafkaJS: {} }])('refuses %j', (given) => {
    expect(() => confluent(given)).toThrow(
      /^KQ_CONFIG: confluent\(…\) got .*: expected the exports of @confluentinc\/kafka-javascript$/,
    );
  });

  it('refuses at the start TLS options that it cannot pass to the client', () => {
    expect(() => confluent(module)(settings({ ssl: { servername: 'x' } }))).toThrow('KQ_CONFIG: `ssl` has');
  });
});
