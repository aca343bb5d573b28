import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { KqError } from '../errors.js';
import type { RegistryOptions } from './registry-options.js';
import { SchemaRegistry } from './schema-registry.js';

interface Asked {
  readonly line: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

type Reply = readonly [status: number, body: string | object, headers?: Record<string, string>];

const STRING = JSON.stringify('string');
const SECRET = 'hunter2-hunter2';

/** As the registry's documented API has it. */
const SCHEMA: Reply = [200, { schema: STRING }];
const UNKNOWN: Reply = [404, { error_code: 40403, message: 'Schema not found' }];

let server: Server;
let url: string;
let asked: Asked[];
let reply: (asked: Asked) => Reply;
beforeEach(async () => {
  asked = [];
  reply = () => SCHEMA;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const one = {
      line: `${request.method} ${request.url}`,
      authorization: request.headers.authorization,
      body: await bodyOf(request),
    };
    asked.push(one);
    const [status, body, headers = {}] = reply(one);
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const part of request) body += String(part);
  return body;
}

const registryOf = (over: Partial<RegistryOptions> = {}) => new SchemaRegistry({ url, ...over });
/** The string `a` by this schema. */
const stored = (id: number) => Buffer.from(`00${id.toString(16).padStart(8, '0')}0261`, 'hex');
const linesOf = () => asked.map(({ line }) => line);

describe('SchemaRegistry', () => {
  it('looks a schema up once, even for many callers at once, and caches a bounded number', async () => {
    const avro = registryOf({ cacheSize: 2 }).avro();
    await Promise.all([avro.decode(stored(1), 't'), avro.decode(stored(1), 't')]);
    expect(avro.decode(stored(1), 't')).toBe('a'); // at once
    expect(linesOf()).toEqual(['GET /schemas/ids/1']);
    const kept = new SchemaRegistry({ url, cacheSize: 1 });
    for (const id of [1, 2, 1]) await kept.avro().decode(stored(id), 't');
    expect(linesOf().slice(1)).toEqual(['GET /schemas/ids/1', 'GET /schemas/ids/2', 'GET /schemas/ids/1']);
  });

  it('asks by the newest schema of the subject, or by the one that it is given', async () => {
    reply = ({ line }) => (line.endsWith('latest') ? [200, { id: 7, schema: STRING }] : [200, { id: 8 }]);
    const registry = registryOf();
    await expect(registry.avro().encode('a', 'orders')).resolves.toEqual(stored(7));
    const subject = (topic: string) => `${topic}/x`;
    await expect(registry.avro({ schema: STRING, subject }).encode('a', 'orders')).resolves.toEqual(
      stored(8),
    );
    await registry.avro({ schema: STRING, register: true, subject: 's' }).encode('a', 'orders');
    expect(linesOf()).toEqual([
      'GET /subjects/orders-value/versions/latest',
      'POST /subjects/orders%2Fx',
      'POST /subjects/s/versions',
    ]);
    expect(JSON.parse(asked[2]!.body)).toEqual({ schema: STRING, schemaType: 'AVRO', references: [] });
  });

  it('asks the next one where one does not answer, or cannot', async () => {
    const away = 'http://127.0.0.1:1';
    await expect(
      registryOf({ url: [away, `${url}/`] })
        .avro()
        .decode(stored(1), 't'),
    ).resolves.toBe('a');
    reply = ({ line }) => (line.startsWith('GET /broken') ? [503, 'busy'] : SCHEMA);
    await expect(
      registryOf({ url: [`${url}/broken`, url] })
        .avro()
        .decode(stored(1), 't'),
    ).resolves.toBe('a');
    await expect(registryOf({ url: away }).avro().decode(stored(1), 't')).rejects.toMatchObject({
      code: 'KQ_REGISTRY',
      message: expect.stringMatching(/^KQ_REGISTRY: GET http:\/\/127\.0\.0\.1:1\/schemas\/ids\/1: /),
    });
  });

  it.each<[string, Reply, string]>([
    ['an unknown id', UNKNOWN, 'KQ_BAD_MESSAGE'],
    ['a path that is none', [404, '<html>'], 'KQ_REGISTRY'],
    ['a wrong login', [401, { error_code: 401, message: 'Unauthorized' }], 'KQ_REGISTRY'],
    ['its own failure', [500, { error_code: 50001, message: 'store' }], 'KQ_REGISTRY'],
    ['a redirect', [302, '', { location: 'http://127.0.0.1:1/' }], 'KQ_REGISTRY'],
    ['what is no JSON', [200, '<html>'], 'KQ_REGISTRY'],
  ])('answers %s with %p as %s', async (_what, answer, code) => {
    reply = () => answer;
    await expect(registryOf().avro().decode(stored(1), 't')).rejects.toMatchObject({ code });
  });

  it('asks no second time within a second of a failure, and then again', async () => {
    reply = () => [503, 'busy'];
    const avro = registryOf().avro();
    const failing = () => expect(avro.decode(stored(1), 't')).rejects.toMatchObject({ code: 'KQ_REGISTRY' });
    const begin = systemClock.now();
    await failing();
    await failing();
    if (systemClock.now() < begin + 1_000) expect(asked).toHaveLength(1);
    reply = () => SCHEMA;
    let read: unknown;
    while (read === undefined) {
      read = await Promise.resolve(avro.decode(stored(1), 't')).catch(() => undefined);
      await new Promise(setImmediate);
    }
    expect(read).toBe('a');
    expect(systemClock.now()).toBeGreaterThanOrEqual(begin + 1_000);
  });

  it('logs in by a user, by a token, or by a token that is asked for each time', async () => {
    let count = 0;
    const token = async () => `${SECRET}-${++count}`;
    const logins: RegistryOptions['auth'][] = [
      { username: 'ann', password: SECRET },
      { token: SECRET },
      { token },
    ];
    for (const auth of logins) {
      const avro = registryOf({ auth }).avro();
      for (const id of [1, 2]) await avro.decode(stored(id), 't');
    }
    const basic = `Basic ${Buffer.from(`ann:${SECRET}`).toString('base64')}`;
    const bearer = `Bearer ${SECRET}`;
    expect(asked.map(({ authorization }) => authorization)).toEqual([
      basic,
      basic,
      bearer,
      bearer,
      `${bearer}-1`,
      `${bearer}-2`,
    ]);
  });

  it.each<[string, () => string]>([
    ['has a line break', () => `${SECRET}\n`],
    ['is missing', () => undefined as unknown as string],
  ])('says nothing of a token that %s', async (_what, token) => {
    const failure = await Promise.resolve(
      registryOf({ auth: { token } }).avro().decode(stored(1), 't'),
    ).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'KQ_REGISTRY' });
    expect(inspect(failure, { depth: 10 })).not.toContain(SECRET);
    expect(asked).toEqual([]);
  });

  it.each<[object, string]>([
    [{ url: undefined }, '`url` of SchemaRegistry is undefined: expected http://… or https://…'],
    [{ url: [] }, '`url` of SchemaRegistry is []'],
    [{ url: 'registry:8081' }, '`url` of SchemaRegistry is '],
    [{ url: `http://ann:${SECRET}@a` }, '`url` of SchemaRegistry is '],
    [{ auth: { username: 'ann' } }, '`auth.password` of SchemaRegistry'],
    [{ auth: { token: `${SECRET} ` } }, 'the token of SchemaRegistry is empty or has spaces'],
    [{ auth: { tokn: SECRET } }, 'there is no `tokn` in the options of `auth`'],
    [{ auth: SECRET }, '`auth` of SchemaRegistry is a string'],
    [{ timeout: 1 }, '`timeout` of SchemaRegistry is 1'],
    [{ cacheSize: 0 }, '`cacheSize` of SchemaRegistry is 0'],
    [{ urls: 'http://a' }, 'there is no `urls`'],
  ])('refuses the options %p', (over, why) => {
    const make = () => new SchemaRegistry({ url, ...over } as RegistryOptions);
    expect(make).toThrow(why);
    try {
      make();
    } catch (error) {
      expect((error as KqError).code).toBe('KQ_CONFIG');
      expect(inspect(error, { depth: 10 })).not.toContain(SECRET);
    }
  });

  it('reads options that are a function when the first message needs them', async () => {
    let read = 0;
    const avro = new SchemaRegistry(() => {
      read++;
      return { url };
    }).avro();
    expect(read).toBe(0);
    for (const id of [1, 2]) await avro.decode(stored(id), 't');
    expect(read).toBe(1);
  });

  it.each<[object, string]>([
    [{ register: true }, '`schema` of registry.avro is undefined: expected a schema, which `register`'],
    [{ subject: '' }, "`subject` of registry.avro is ''"],
    [{ schema: { type: 'recrd' } }, '`schema` of registry.avro: '],
    [{ scheme: 'string' }, 'there is no `scheme` in the options of registry.avro'],
  ])('refuses the format %p', (options, why) => {
    expect(() => registryOf().avro(options)).toThrow(`KQ_BAD_OPTION: ${why}`);
  });
});
