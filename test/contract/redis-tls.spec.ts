// The ledger in a Redis that takes TLS alone.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RedisOptions } from 'ioredis';
import { ask, Authority, startRedis, type RedisServer } from 'test-servers';
import { claim, DOWN, open } from './real-redis.js';

let authority: Authority;
let stranger: Authority;
/** It wants client certificates. */
let mutual: RedisServer;
let server: RedisServer;
let otherName: RedisServer;

beforeAll(async () => {
  [authority, stranger] = await Promise.all([Authority.make(), Authority.make()]);
  mutual = await startRedis({ tls: await authority.issue() });
  server = await startRedis({ tls: await authority.issue(), clientCertificates: false });
  otherName = await startRedis({ tls: await authority.issue({ names: 'DNS:other.example' }) });
}, 60_000);
afterAll(() => Promise.all([mutual, server, otherName].map((each) => each.stop())));

const optionsOf = ({ host, port }: RedisServer, tls: RedisOptions['tls']): RedisOptions => ({
  host,
  port,
  tls: { ca: authority.certificate, ...tls },
});

describe('a Redis that takes TLS alone', () => {
  it('is reached with its authority, and by a user of an ACL', async () => {
    expect(await ask(server, 'ACL SETUSER shop on >secret ~* +@all')).toBe('+OK');
    const options = { ...optionsOf(server, {}), username: 'shop', password: 'secret' };
    await expect(claim(open(options).tube('t'), 'job')).resolves.toMatchObject([{ kind: 'run' }]);
    expect(await ask(server, 'CLIENT LIST')).toContain(' user=shop ');
  });

  it('is reached with a client certificate, as strings or as bytes', async () => {
    const { key, certificate: cert } = await authority.issue();
    for (const tls of [
      { key, cert },
      { key: Buffer.from(key), cert: Buffer.from(cert) },
    ])
      await expect(claim(open(optionsOf(mutual, tls)).tube('t'), 'job', 'a')).resolves.toMatchObject([
        { kind: 'run' },
      ]);
  });

  it.each<[string, () => RedisOptions, RegExp]>([
    ['by its authority', () => optionsOf(server, { ca: stranger.certificate }), /an untrusted authority/],
    ['by its name', () => optionsOf(otherName, {}), /certificate is for a different name/],
    // With TLS 1.3 the refusal may get lost, as the connection is closed by then.
    [
      'without a client certificate',
      () => optionsOf(mutual, {}),
      /the server requires a client certificate|ECONNRESET|closed/,
    ],
  ])('is away if the certificate is wrong: %s', async (_, options, reason) => {
    await expect(claim(open(options()).tube('t'), 'job')).rejects.toMatchObject({
      ...DOWN,
      message: expect.stringMatching(reason),
    });
  });

  it('is away for a process without TLS', async () => {
    const { host, port } = server;
    await expect(claim(open({ host, port }).tube('t'), 'job')).rejects.toMatchObject(DOWN);
  });
});
