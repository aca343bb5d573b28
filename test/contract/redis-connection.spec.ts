// The connection of the ledger to one Redis: where it leads, who shares it, and what it tells.
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { defaultLogger } from 'nest-dq/src/nest/default-logger.js';
import { realEnvironment } from 'nest-dq/src/nest/environment.js';
import { eventually } from 'test-servers';
import { away, back, claim, DOWN, open, realRedis, watch } from './real-redis.js';

describe('with one Redis', () => {
  const at = realRedis();

  it('reports whether a server that is back is the same, or was started again', async () => {
    const tube = open(at.server.url).tube('same server');
    await tube.readTime();
    const reported: unknown[] = [];
    tube.listen({
      away: (_error, heardAt) => reported.push(Math.abs(tube.now() - heardAt) < 30_000),
      back: (sameServer) => reported.push(sameServer),
    });
    await at.inspect.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually('it is back', () => reported.length === 2);
    expect(reported).toEqual([true, true]);
    await at.server.kill();
    await at.server.restart();
    await eventually('it is back again', () => reported.length === 4);
    expect(reported.slice(2)).toEqual([true, false]);
  }, 60_000);

  it('shows no password in an error or its cause, where the server refuses it', async () => {
    await at.inspect.call('ACL', 'SETUSER', 'ann', 'on', '>right', '+@all', '~*');
    const { host, port } = at.server;
    for (const redis of [
      { host, port, username: 'ann', password: 's3cret' },
      `redis://ann:s3cret@${host}:${port}`,
    ]) {
      const asked = open(redis).tube('refused').ask('find', ['a']);
      const error: unknown = await asked.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN' });
      const shown = inspect(error, { depth: Infinity, showHidden: true });
      expect(shown).toMatch(/WRONGPASS|NOAUTH/);
      expect(shown).not.toContain('s3cret');
    }
  });

  it('sees the same records through a URL, options and a client with a prefix of its own', async () => {
    const client = new Redis({
      host: at.server.host,
      port: at.server.port,
      keyPrefix: 'x:',
      lazyConnect: true,
    });
    try {
      const sources = [
        at.server.url,
        `${at.server.url}?keyPrefix=w:`,
        { host: at.server.host, port: at.server.port, keyPrefix: 'y:' },
        client,
      ];
      const kinds: string[] = [];
      for (const source of sources) {
        const tube = open(source).tube('same');
        const [answer] = await claim(tube, 'job', `token ${kinds.length}`);
        kinds.push(answer!.kind);
      }
      expect(kinds).toEqual(['run', 'busy', 'busy', 'busy']);
      await expect(at.inspect.exists('{same}:job')).resolves.toBe(1);
    } finally {
      client.disconnect();
    }
  });

  it('refuses to open with a database that the server does not have, and never uses another', async () => {
    const opening = async (redis: unknown) => {
      const options = realEnvironment.resolve(
        { beanstalks: ['127.0.0.1:1'], redis: redis as string },
        defaultLogger(),
        undefined,
      );
      const backend = realEnvironment.backend(options, undefined);
      try {
        await backend.open();
      } finally {
        await backend.ledger.close();
      }
    };
    const refused = {
      code: 'DQ_CONFIG',
      message: expect.stringMatching(/database 99 of `redis`.*out of range/),
    };
    await expect(opening(`${at.server.url}/99`)).rejects.toMatchObject(refused);
    await expect(opening({ host: at.server.host, port: at.server.port, db: 99 })).rejects.toMatchObject(
      refused,
    );
    await expect(opening(`${at.server.url}/15`)).resolves.toBeUndefined();
    // As it is where the server was not there at the start.
    const tube = open(`${at.server.url}/99`).tube('database');
    await expect(claim(tube, 'job')).rejects.toMatchObject({ ...DOWN, message: refused.message });
    await expect(at.inspect.exists('{database}:job')).resolves.toBe(0);
    await claim(open(`${at.server.url}/15`).tube('database'), 'job');
    await expect(at.inspect.exists('{database}:job')).resolves.toBe(0);
  });

  it('begins every key with its tube in braces', async () => {
    const tube = open(at.server.url).tube('shop.t');
    await claim(tube, 'job');
    const ref = { id: 'letter', generation: 0, born: 0, due: 0, fence: 1, attempt: 1, lastOk: tube.now() };
    const outcome = { kind: 'dead', death: { why: 'discarded' }, places: [] } as const;
    await tube.complete([{ ...ref, owed: { mask: 1, unknown: false }, outcome }]);
    const keys = await at.inspect.keys('*shop*');
    expect(keys.sort()).toEqual(['{shop.t}::dead', '{shop.t}::letters', '{shop.t}:job', '{shop.t}:letter']);
  });

  it('has one connection for all tubes, and notifies all of them that it is lost', async () => {
    const ledger = open(at.server.url);
    const [one, two] = [ledger.tube('one'), ledger.tube('two')];
    await Promise.all([one.readTime(), two.readTime()]);
    const events = [watch(one), watch(two)];
    await at.inspect.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually('both were notified', () => events.every((each) => each.length === 2));
    expect(events.map((each) => each[1])).toEqual(['back', 'back']);
    await expect(claim(two, 'job')).resolves.toMatchObject([{ kind: 'run' }]);
  });

  it('reports once for all tubes that the server is away and back, even before any tube is used', async () => {
    await at.server.kill();
    const events: string[] = [];
    const ledger = open(at.server.url);
    ledger.listen({ away: () => events.push('away'), back: () => events.push('back') });
    try {
      await eventually('it is reported as away', () => events.length > 0);
      ledger.tube('one');
      ledger.tube('two');
    } finally {
      await at.server.restart();
    }
    await eventually('it is reported as back', () => events.length > 1);
    expect(events).toEqual(['away', 'back']);
  }, 60_000);

  it('comes back from a server that became a replica', async () => {
    const tube = open(at.server.url).tube('replica');
    await tube.readTime();
    await at.inspect.replicaof(at.server.host, 1);
    try {
      await expect(claim(tube, 'job')).rejects.toMatchObject(DOWN);
      await away(tube);
    } finally {
      await at.inspect.replicaof('NO', 'ONE');
    }
    await back(tube);
    await expect(claim(tube, 'job')).resolves.toMatchObject([{ kind: 'run' }]);
  }, 60_000);

  it('stops notifying those who no longer listen', async () => {
    const tube = open(at.server.url).tube('listeners');
    await tube.readTime();
    const events = watch(tube);
    const stopped: string[] = [];
    const stop = tube.listen({ away: () => stopped.push('away'), back: () => stopped.push('back') });
    stop();
    await at.inspect.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually('the others were notified', () => events.length === 2);
    expect(stopped).toEqual([]);
  });
});
