// What the ledger in Redis does beyond the contract: its connection, its time, and a server that is not there.
import { readFileSync } from 'node:fs';
import { stored } from 'nest-dq/spec-support/stored.js';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import type { TubeLedger } from 'nest-dq/src/ledger/ledger.js';
import type { ClaimRequest } from 'nest-dq/src/ledger/requests.js';
import { RedisLedger, type RedisLedgerOptions } from 'nest-dq/src/ledger/redis/redis-ledger.js';
import { realEnvironment } from 'nest-dq/src/nest/environment.js';
import { systemClock, type Clock } from 'nest-dq/src/time/clock.js';
import { eventually, type RedisServer, startRedis } from 'test-servers';
import { SETTINGS } from './ledger-harness.js';

const DOWN = {
  code: 'DQ_LEDGER_DOWN',
  indeterminate: true,
  cause: expect.objectContaining({ message: expect.any(String) }),
};

const ledgers: RedisLedger[] = [];

function open(redis: RedisLedgerOptions['redis'], over: Partial<RedisLedgerOptions> = {}): RedisLedger {
  const ledger = new RedisLedger({
    redis,
    settings: SETTINGS,
    clock: systemClock,
    warn: () => undefined,
    ...over,
  });
  ledgers.push(ledger);
  ledger.start();
  return ledger;
}

afterEach(async () => {
  await Promise.all(ledgers.splice(0).map((ledger) => ledger.close()));
});

/** A claim of a job that is due: by enough that this process may be a little wrong about the server's time. */
function copy(tube: TubeLedger, id: string, token = 'a'): ClaimRequest {
  return { id, generation: 0, born: 0, due: Math.floor(tube.now()) - 1_000, token, attempts: 10 };
}

function claim(tube: TubeLedger, id: string, token?: string) {
  return tube.claim([copy(tube, id, token)]);
}

/** What a tube tells, and promises for the next of each. */
function watch(tube: TubeLedger) {
  const told: string[] = [];
  tube.listen({ away: (error) => told.push(`away: ${error.message}`), back: () => told.push('back') });
  return told;
}

const away = (tube: TubeLedger) => eventually('the ledger is away', () => tube.away);
const back = (tube: TubeLedger) => eventually('the ledger is back', () => !tube.away);

describe.each([
  ['one Redis', false],
  ['a Redis Cluster', true],
])('with %s', (_name, cluster) => {
  let server: RedisServer;
  let inspect: Redis;
  let client: Redis | Cluster;

  beforeAll(async () => {
    server = await startRedis({ cluster });
    inspect = new Redis(server.url, { retryStrategy: () => 50 });
    inspect.on('error', () => undefined); // it is killed on purpose
    const place = { host: server.host, port: server.port };
    const options = { keyPrefix: 'theirs:', lazyConnect: true };
    client = cluster ? new Cluster([place], options) : new Redis({ ...place, ...options });
    client.on('error', () => undefined);
  }, 60_000);

  afterAll(async () => {
    inspect.disconnect();
    client.disconnect();
    await server.stop();
  });

  it('tells that the server went, and that it came back, and works again', async () => {
    const tube = open(client).tube('killed');
    await expect(claim(tube, 'before')).resolves.toMatchObject([{ kind: 'run' }]);
    const told = watch(tube);
    await server.kill();
    await expect(claim(tube, 'meanwhile')).rejects.toMatchObject(DOWN);
    expect(tube.away).toBe(true);
    expect(told).toEqual([expect.stringMatching(/^away: ./)]);
    await server.restart();
    await back(tube);
    expect(told).toEqual([expect.stringMatching(/^away: ./), 'back']);
    await expect(claim(tube, 'after')).resolves.toMatchObject([{ kind: 'run' }]);
  }, 60_000);

  it('rejects calls of a frozen server, which is away until it goes on, and acts on none of them late', async () => {
    const tube = open(client).tube('frozen');
    await expect(claim(tube, 'before')).resolves.toMatchObject([{ kind: 'run' }]);
    const told = watch(tube);
    server.freeze();
    const sent = tube.now();
    try {
      await expect(claim(tube, 'late')).rejects.toMatchObject(DOWN);
      expect(tube.now() - sent).toBeLessThan(5_000);
      expect(tube.away).toBe(true);
      await eventually('the call is past its latest acting time', () => tube.now() > sent + 1_100);
    } finally {
      server.thaw();
    }
    await back(tube);
    expect(told).toEqual([expect.stringMatching(/^away: ./), 'back']);
    await expect(claim(tube, 'late', 'b')).resolves.toMatchObject([{ kind: 'run', attempt: 1 }]);
  }, 60_000);

  it('keeps its time while the server is away', async () => {
    const tube = open(client).tube('time');
    await tube.readTime();
    await server.kill();
    try {
      await expect(tube.settle([{ id: 'job', generation: 0, mask: 1, unknown: false }])).rejects.toThrow();
      await expect(tube.readTime()).resolves.toBeUndefined();
      expect(Math.abs(tube.now() - Date.now())).toBeLessThan(1_000);
    } finally {
      await server.restart();
    }
    await back(tube);
  }, 60_000);

  it('comes to a server that was not there at the start', async () => {
    await server.kill();
    const tube = open(client).tube('absent');
    try {
      await expect(tube.readTime()).rejects.toMatchObject(DOWN);
      expect(tube.away).toBe(true);
      await expect(claim(tube, 'job')).rejects.toMatchObject(DOWN);
    } finally {
      await server.restart();
    }
    await back(tube);
    await expect(claim(tube, 'job')).resolves.toMatchObject([{ kind: 'run' }]);
  }, 60_000);

  it('is away while the server has no memory left, although that tells the time', async () => {
    const tube = open(client).tube('memory');
    await tube.readTime();
    const told = watch(tube);
    await inspect.config('SET', 'maxmemory', '1mb');
    try {
      const refused = await claim(tube, 'job').catch((error: unknown) => error);
      expect(refused).toMatchObject(DOWN);
      expect(String(refused)).toContain('OOM');
      const refusals = async () =>
        Number(/errorstat_OOM:count=(\d+)/.exec(await inspect.info('errorstats'))?.[1]);
      await eventually('it was asked again, and refused', async () => (await refusals()) >= 3);
      expect(told).toEqual([expect.stringContaining('OOM')]);
    } finally {
      await inspect.config('SET', 'maxmemory', '0');
    }
    await back(tube);
    await expect(claim(tube, 'job')).resolves.toMatchObject([{ kind: 'run', attempt: 1 }]);
  }, 60_000);

  it('stays away, and is asked in peace, while the server has memory for probes and not for calls', async () => {
    const tube = open(client).tube('short');
    await tube.readTime();
    const told = watch(tube);
    const requests = Array.from({ length: 5_000 }, (_, i) => ({
      id: `01ARZ3NDEKTSV4RRFFQ69G${String(i).padStart(4, '0')}`,
      generation: 1,
      due: 0,
      announced: 1,
      owed: { mask: 1, unknown: false },
    }));
    // As a consumer says what waits to be said.
    tube.listen({ away: () => undefined, back: () => void tube.abort(requests).catch(() => undefined) });
    const used = Number(/used_memory:(\d+)/.exec(await inspect.info('memory'))![1]);
    await inspect.config('SET', 'maxmemory', String(used + 100_000));
    try {
      await expect(tube.abort(requests)).rejects.toMatchObject(DOWN);
      const refusals = async () =>
        Number(/errorstat_OOM:count=(\d+)/.exec(await inspect.info('errorstats'))?.[1]);
      const first = await refusals();
      await eventually('it was asked again, and refused', async () => (await refusals()) >= first + 3);
      expect(told).toEqual([expect.stringContaining('OOM')]);
    } finally {
      await inspect.config('SET', 'maxmemory', '0');
    }
    await back(tube);
    await expect(tube.abort(requests)).resolves.toContain('aborted');
  }, 60_000);

  it.each([
    ['a hash', (key: string) => inspect.hset(key, { theirs: 'somebody else’s' }), 'WRONGTYPE'],
    ['a text that no script understands', (key: string) => inspect.set(key, 'somebody else’s'), 'ERR'],
  ])('fails for a record that is %s, and for no other', async (_what, damage, code) => {
    const tube = open(client).tube(`damaged${code}`);
    await tube.readTime();
    const told = watch(tube);
    await damage(`{damaged${code}}:job`);
    await expect(tube.settle([{ id: 'job', generation: 0, mask: 1, unknown: true }])).rejects.toMatchObject({
      ...DOWN,
      cause: { message: expect.stringMatching(new RegExp(`^${code} `)) },
    });
    expect(tube.away).toBe(false);
    await expect(claim(tube, 'other')).resolves.toMatchObject([{ kind: 'run' }]);
    expect(told).toEqual([]);
  });

  it('reads and writes a record once in a call, however many of its entries concern it', async () => {
    const tube = open(client).tube('once');
    await tube.readTime();
    const many = <T>(entry: (i: number) => T) => Array.from({ length: 1_000 }, (_, i) => entry(i));
    const calls = async () => {
      const stats = await inspect.info('commandstats');
      return ['get', 'set'].map((name) =>
        Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
      );
    };
    const counted = async (call: () => Promise<unknown>) => {
      const before = await calls();
      await call();
      return (await calls()).map((count, i) => count - before[i]!);
    };
    const due = tube.now() + 60_000;
    const opening = { by: 'add', onDuplicate: 'replace' } as const;
    const opens = many(() => ({ id: 'job', opening, due, announced: 7 }));
    const generations: number[] = [];
    await expect(
      counted(async () => {
        for (const answer of await tube.open(opens)) {
          if (answer.kind === 'opened') generations.push(answer.generation);
        }
      }),
    ).resolves.toEqual([1, 1]);
    const owed = { mask: 7, unknown: false };
    const commits = generations.map((generation) => ({
      id: 'job',
      opening,
      generation,
      born: generation,
      due,
      announced: 7,
      owed,
      places: [],
    }));
    await expect(counted(() => tube.commit(commits))).resolves.toEqual([1, 1]);
    const settled = generations.map((generation) => ({ id: 'job', generation, mask: 7, unknown: false }));
    await expect(counted(() => tube.settle(settled.slice(0, 500)))).resolves.toEqual([1, 1]);
    // The claim of another job: its own record is written without being read.
    const claimed = counted(() => tube.claim([copy(tube, 'other')], settled.slice(500)));
    await expect(claimed).resolves.toEqual([1, 2]);
  });

  it('gives what one process left to one other, once it is certain', async () => {
    const handovers = [1, 2, 3].map(() => open(client, { prefix: 'shop.' }).handover);
    const deletions = (id: string, certainIn: number) => ({
      tube: stored('shop.t'),
      ids: [id],
      generations: [0],
      copies: [{ index: 0, instance: 'i1' }],
      unknown: false,
      certainIn,
    });
    const [leaving, ...others] = handovers;
    await leaving!.leave([deletions('later', 60_000), deletions('now', 0), deletions('before', -1)]);
    const taken = await Promise.all(others.map((handover) => handover.take()));
    const ids = taken.flat().map(({ ids: [id] }) => id);
    expect(new Set(ids)).toEqual(new Set(['before', 'now']));
    await expect(leaving!.take()).resolves.toEqual([]);
    expect(await inspect.pttl('{shop.}::left')).toBeGreaterThan(86_000_000);
    await expect(open(client).handover.take()).resolves.toEqual([]);
  });

  it('finds its scripts again after the server forgot them', async () => {
    const tube = open(client).tube('scripts');
    await expect(claim(tube, '1')).resolves.toMatchObject([{ kind: 'run' }]);
    await inspect.script('FLUSH');
    await expect(claim(tube, '2')).resolves.toMatchObject([{ kind: 'run' }]);
    expect(tube.away).toBe(false);
  });

  it('repeats a call that came too late, with the right time', async () => {
    let lost = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() - lost };
    const tube = open(client, { clock }).tube('late');
    await tube.readTime();
    lost = 10_000; // the machine slept, and its monotonic clock with it
    await expect(tube.claim([copy(tube, 'job')])).resolves.toMatchObject([{ kind: 'run', attempt: 1 }]);
    expect(Math.abs(tube.now() - Date.now())).toBeLessThan(1_000);
  });

  it('works with tubes of different slots and unusual names', async () => {
    const ledger = open(client);
    const names = ['a', 'b', 'c/d;e.f$g_h(i)', '+-'];
    const answers = await Promise.all(names.map((name) => claim(ledger.tube(name), 'job')));
    expect(answers.flat().map(({ kind }) => kind)).toEqual(['run', 'run', 'run', 'run']);
    const keys = await inspect.keys('*c/d;e.f$g_h(i)*');
    expect(keys).toEqual(['{c/d;e.f$g_h(i)}:job']);
  });

  it('connects at the first call, where that comes before the start', async () => {
    const ledger = new RedisLedger({
      redis: client,
      settings: SETTINGS,
      clock: systemClock,
      warn: () => undefined,
    });
    ledgers.push(ledger);
    await expect(claim(ledger.tube('early'), 'job')).resolves.toMatchObject([{ kind: 'run' }]);
    ledger.start();
    await expect(claim(ledger.tube('early'), 'job2')).resolves.toMatchObject([{ kind: 'run' }]);
  });

  it('may be closed without a start, or before it is connected', async () => {
    const ledger = new RedisLedger({
      redis: client,
      settings: SETTINGS,
      clock: systemClock,
      warn: () => undefined,
    });
    await ledger.close();
    ledger.start();
    await expect(ledger.tube('t').readTime()).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    const begun = open(client);
    const waiting = begun.tube('t').readTime();
    const refused = expect(waiting).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await begun.close();
    await refused;
  });

  it('answers what is under way when it is closed, and leaves no connection behind', async () => {
    const connections = async () => (await inspect.call('CLIENT', 'LIST')) as string;
    const before = (await connections()).trim().split('\n').length;
    const ledger = open(client);
    const tube = ledger.tube('closed');
    await tube.readTime();
    expect((await connections()).trim().split('\n').length).toBeGreaterThan(before);
    const answer = claim(tube, 'job');
    await ledger.close();
    await expect(answer).resolves.toMatchObject([{ kind: 'run' }]);
    await expect(claim(tube, 'job')).rejects.toMatchObject({ code: 'DQ_CLOSED' });
    await eventually(
      'its connections are closed',
      async () => (await connections()).trim().split('\n').length <= before,
    );
  });

  it('forgets tubes that come and go, and not one that is listened to', async () => {
    let minute: (() => void) | undefined;
    const after: Clock['after'] = (ms, callback) => {
      if (ms !== 60_000) return systemClock.after(ms, callback);
      minute = callback;
      return { cancel: () => (minute = undefined) };
    };
    const ledger = open(client, { clock: { ...systemClock, after } });
    const kept = ledger.tube('kept');
    const told = watch(kept);
    const sizes = () =>
      ['tubes', 'masters'].map((each) => (Reflect.get(ledger, each) as ReadonlyMap<string, unknown>).size);
    await Promise.all(Array.from({ length: 200 }, (_, i) => ledger.tube(`gone ${i}`).readTime()));
    expect(sizes()).toEqual([201, client instanceof Cluster ? 201 : 1]);
    minute!(); // they were used in the first one
    minute!();
    expect(Math.max(...sizes())).toBe(1);
    await expect(claim(kept, 'job')).resolves.toMatchObject([{ kind: 'run' }]);
    await expect(claim(ledger.tube('gone 1'), 'job')).resolves.toMatchObject([{ kind: 'run' }]);
    expect(told).toEqual([]);
  });

  it('leaves the user’s client open', async () => {
    const ledger = open(client);
    await ledger.tube('t').readTime();
    await expect(client.set('{k}', 'v')).resolves.toBe('OK');
    await ledger.close();
    await expect(client.get('{k}')).resolves.toBe('v');
    expect(client.options.keyPrefix).toBe('theirs:');
  });
});

describe('with one Redis', () => {
  let server: RedisServer;
  let inspect: Redis;

  it('tells whether a server that is back is the same, or was started again', async () => {
    const tube = open(server.url).tube('same server');
    await tube.readTime();
    const told: unknown[] = [];
    tube.listen({
      away: (_error, heardAt) => told.push(Math.abs(tube.now() - heardAt) < 30_000),
      back: (sameServer) => told.push(sameServer),
    });
    await inspect.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually('it is back', () => told.length === 2);
    expect(told).toEqual([true, true]);
    await server.kill();
    await server.restart();
    await eventually('it is back again', () => told.length === 4);
    expect(told.slice(2)).toEqual([true, false]);
  }, 60_000);

  beforeAll(async () => {
    server = await startRedis();
    inspect = new Redis(server.url);
    inspect.on('error', () => undefined);
  }, 60_000);

  afterAll(async () => {
    inspect.disconnect();
    await server.stop();
  });

  it('sees the same records through a URL, options and a client with a prefix of its own', async () => {
    const client = new Redis({ host: server.host, port: server.port, keyPrefix: 'x:', lazyConnect: true });
    try {
      const sources = [
        server.url,
        `${server.url}?keyPrefix=w:`,
        { host: server.host, port: server.port, keyPrefix: 'y:' },
        client,
      ];
      const kinds: string[] = [];
      for (const source of sources) {
        const tube = open(source).tube('same');
        const [answer] = await claim(tube, 'job', `token ${kinds.length}`);
        kinds.push(answer!.kind);
      }
      expect(kinds).toEqual(['run', 'busy', 'busy', 'busy']);
      await expect(inspect.exists('{same}:job')).resolves.toBe(1);
    } finally {
      client.disconnect();
    }
  });

  it('refuses to open with a database that the server does not have, and never uses another', async () => {
    const opening = async (redis: unknown) => {
      const options = realEnvironment.resolve(
        { beanstalks: ['127.0.0.1:1'], redis: redis as string },
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
    await expect(opening(`${server.url}/99`)).rejects.toMatchObject(refused);
    await expect(opening({ host: server.host, port: server.port, db: 99 })).rejects.toMatchObject(refused);
    await expect(opening(`${server.url}/15`)).resolves.toBeUndefined();
    // As it is where the server was not there at the start.
    const tube = open(`${server.url}/99`).tube('database');
    await expect(claim(tube, 'job')).rejects.toMatchObject({ ...DOWN, message: refused.message });
    await expect(inspect.exists('{database}:job')).resolves.toBe(0);
    await claim(open(`${server.url}/15`).tube('database'), 'job');
    await expect(inspect.exists('{database}:job')).resolves.toBe(0);
  });

  it('begins every key with its tube in braces', async () => {
    const tube = open(server.url).tube('shop.t');
    await claim(tube, 'job');
    const ref = { id: 'letter', generation: 0, born: 0, due: 0, fence: 1, attempt: 1, lastOk: tube.now() };
    const outcome = { kind: 'dead', death: { why: 'discarded' }, places: [] } as const;
    await tube.complete([{ ...ref, owed: { mask: 1, unknown: false }, outcome }]);
    const keys = await inspect.keys('*shop*');
    expect(keys.sort()).toEqual(['{shop.t}::dead', '{shop.t}::letters', '{shop.t}:job', '{shop.t}:letter']);
  });

  it('has one connection for all tubes, and tells all of them that it is lost', async () => {
    const ledger = open(server.url);
    const [one, two] = [ledger.tube('one'), ledger.tube('two')];
    await Promise.all([one.readTime(), two.readTime()]);
    const told = [watch(one), watch(two)];
    await inspect.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually('both were told', () => told.every((each) => each.length === 2));
    expect(told.map((each) => each[1])).toEqual(['back', 'back']);
    await expect(claim(two, 'job')).resolves.toMatchObject([{ kind: 'run' }]);
  });

  it('tells once for all tubes that the server is away and back, also before any tube is used', async () => {
    await server.kill();
    const told: string[] = [];
    const ledger = open(server.url);
    ledger.listen({ away: () => told.push('away'), back: () => told.push('back') });
    try {
      await eventually('it is told', () => told.length > 0);
      ledger.tube('one');
      ledger.tube('two');
    } finally {
      await server.restart();
    }
    await eventually('it is told again', () => told.length > 1);
    expect(told).toEqual(['away', 'back']);
  }, 60_000);

  it('comes back from a server that became a replica', async () => {
    const tube = open(server.url).tube('replica');
    await tube.readTime();
    await inspect.replicaof(server.host, 1);
    try {
      await expect(claim(tube, 'job')).rejects.toMatchObject(DOWN);
      await away(tube);
    } finally {
      await inspect.replicaof('NO', 'ONE');
    }
    await back(tube);
    await expect(claim(tube, 'job')).resolves.toMatchObject([{ kind: 'run' }]);
  }, 60_000);

  it('stops telling those who no longer listen', async () => {
    const tube = open(server.url).tube('listeners');
    await tube.readTime();
    const told = watch(tube);
    const stopped: string[] = [];
    const stop = tube.listen({ away: () => stopped.push('away'), back: () => stopped.push('back') });
    stop();
    await inspect.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually('the others were told', () => told.length === 2);
    expect(stopped).toEqual([]);
  });

  describe('its settings', () => {
    afterEach(async () => {
      await inspect.config('SET', 'maxmemory-policy', 'noeviction');
      await inspect.config('SET', 'appendonly', 'yes');
    });

    it('are warned of where they lose decisions, once', async () => {
      await inspect.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await inspect.config('SET', 'appendonly', 'no');
      const warnings: string[] = [];
      const tube = open(server.url, { warn: (message) => warnings.push(message) }).tube('t');
      await eventually('it warned', () => warnings.length >= 2);
      const told = watch(tube);
      await inspect.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await eventually('it came back', () => told.length === 2);
      await claim(tube, 'warned');
      expect(warnings).toEqual([
        expect.stringContaining('allkeys-lru'),
        expect.stringContaining('append-only'),
      ]);
    });

    it('are warned of where it may not ask for them', async () => {
      const ready = jest.spyOn(console, 'warn');
      await inspect.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '+@all', '-info');
      const warnings: string[] = [];
      const redis = {
        host: server.host,
        port: server.port,
        username: 'app',
        password: 'secret',
      };
      const tube = open(redis, { warn: (message) => warnings.push(message) }).tube('t');
      await eventually('it warned', () => warnings.length > 0);
      expect(warnings).toEqual([expect.stringMatching(/NOPERM.*noeviction/)]);
      expect(ready).not.toHaveBeenCalled();
      await expect(claim(tube, 'acl')).resolves.toMatchObject([{ kind: 'run' }]);
    });
  });

  describe('for a user with the rights of docs/clusters.md', () => {
    const docs = readFileSync(new URL('../../docs/clusters.md', import.meta.url), 'utf8');
    const rule = /^ACL SETUSER (\S+) (on >\S+ .*)$/m.exec(docs)!;
    const rights = rule[2]!.split(' ');
    const needed = rights.filter((right) => right.startsWith('+') && right !== '+info');

    /** Its ledger, once the user has these rights and no others. */
    async function openAs(name: string, given: readonly string[]): Promise<RedisLedger> {
      await inspect.call('ACL', 'SETUSER', name, 'reset', ...given);
      const password = given.find((right) => right.startsWith('>'))!.slice(1);
      const redis = { host: server.host, port: server.port, username: name, password };
      return open(redis, { prefix: 'shop.' });
    }

    it('makes every call', async () => {
      const ledger = await openAs(rule[1]!, rights);
      const tube = ledger.tube('shop.orders');
      const owed = { mask: 1, unknown: false };
      const places = [{ index: 0, location: 'node:11300#instance:1' }];
      const [run] = await claim(tube, 'dead');
      const at = { generation: 0, born: 0, due: 0, attempt: 1, lastOk: tube.now() };
      const ref = { id: 'dead', ...at, fence: (run as { fence: number }).fence };
      await expect(tube.extend([ref])).resolves.toEqual(['ok']);
      const outcome = { kind: 'dead', death: { why: 'discarded' }, places } as const;
      await expect(tube.complete([{ ...ref, owed, outcome }])).resolves.toEqual(['ok']);
      await tube.buried([{ id: 'dead', born: 0, places }]);
      const page = { limit: 1, after: { died: Date.now() + 60_000, id: 'z', born: 0 } };
      await expect(tube.letters(page)).resolves.toMatchObject({ letters: [{ id: 'dead' }] });
      await expect(tube.discard([{ id: 'dead', born: 0 }])).resolves.toMatchObject([{ id: 'dead' }]);
      const opening = { by: 'add', onDuplicate: 'replace' } as const;
      const due = Date.now() + 60_000;
      const [opened] = await tube.open([{ id: 'key', opening, due, announced: 1 }]);
      const { generation } = opened as { generation: number };
      const stored = { id: 'key', opening, generation, born: generation, due, announced: 1, owed, places };
      await ledger.handover.leave([]);
      await expect(ledger.handover.take()).resolves.toEqual([]);
      await expect(tube.commit([stored])).resolves.toMatchObject([{ kind: 'committed' }]);
      await expect(tube.find(['key'])).resolves.toMatchObject([{ state: 'waiting' }]);
      const other = { id: 'other', generation: 1, due, announced: 1, owed };
      await expect(tube.abort([other])).resolves.toEqual(['aborted']);
      await tube.settle([{ id: 'key', generation, mask: 1, unknown: false }]);
      const revoke = { id: 'key', born: undefined, due, owed, abort: false };
      await expect(tube.revoke([revoke])).resolves.toMatchObject([{ result: 'revoked' }]);
    });

    it.each(needed.map((right) => right.slice(1)))('names the right that is missing: %s', async (command) => {
      await inspect.script('FLUSH');
      const given = rights.filter((right) => right !== `+${command}`);
      const tube = (await openAs('less', given)).tube('shop.orders');
      // The second time it is called by its hash.
      const calls = claim(tube, 'one').then(() => claim(tube, 'two'));
      const error: unknown = await calls.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'DQ_LEDGER_DOWN',
        message: expect.stringMatching(/permission|can't run/),
      });
      expect((error as Error).message.toLowerCase()).toContain(command);
    });

    it('answers nothing about the keys of others', async () => {
      const ledger = await openAs(rule[1]!, rights);
      await expect(claim(ledger.tube('theirs.orders'), 'job')).rejects.toMatchObject({
        ...DOWN,
        message: expect.stringContaining('NOPERM'),
      });
    });
  });
});
