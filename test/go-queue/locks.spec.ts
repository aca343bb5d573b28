import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { GoQueueLocks } from 'nest-dq/src/go-queue/locks.js';
import { MemoryGoQueueLocks } from 'nest-dq/src/go-queue/memory-locks.js';
import { RedisGoQueueLocks } from 'nest-dq/src/go-queue/redis-locks.js';
import { systemClock } from 'nest-handlers/time';
import { eventually, startRedis, type RedisServer } from 'test-servers';

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
}, 60_000);
afterAll(() => server.stop());

let locks: GoQueueLocks;
let warnings: string[];
let jobs = 0;
let id: string;

beforeEach(() => {
  redis = new Redis(server.url);
  warnings = [];
  id = String(++jobs).padStart(32, '0');
});
afterEach(async () => {
  redis.disconnect();
  await locks.close();
});

describe.each([
  ['Redis', () => new RedisGoQueueLocks(server.url, systemClock, (message) => warnings.push(message))],
  ['memory', () => new MemoryGoQueueLocks(systemClock)],
])("go-queue's locks in %s", (_, make) => {
  beforeEach(() => {
    locks = make();
    locks.start();
  });

  it('have one owner, even when it asks again', async () => {
    expect(await locks.take(id, 'nest-dq:1')).toBe(true);
    expect(await locks.take(id, 'nest-dq:1')).toBe(true);
    expect(await locks.take(id, 'nest-dq:2')).toBe(false);
  });

  it('let nobody begin a job that is revoked', async () => {
    expect(await locks.revoke(id, 60_000)).toBe('revoked');
    expect(await locks.revoke(id, 60_000)).toBe('revoked');
    expect(await locks.take(id, 'nest-dq:1')).toBe(false);
  });

  it('stay with who has begun the job', async () => {
    await locks.take(id, 'nest-dq:1');
    expect(await locks.revoke(id, 60_000)).toBe('ours');
    expect(await locks.take(id, 'nest-dq:1')).toBe(true);
  });
});

describe("go-queue's locks in Redis", () => {
  beforeEach(() => {
    locks = new RedisGoQueueLocks(server.url, systemClock, (message) => warnings.push(message));
    locks.start();
  });

  it('are those of its consumers, by the same key', async () => {
    await redis.set(id, 'abcdefghij012345', 'PX', 3_600_500);
    expect(await locks.take(id, 'nest-dq:1')).toBe(false);
    expect(await locks.revoke(id, 60_000)).toBe('theirs');
    expect(await redis.get(id)).toBe('abcdefghij012345');
  });

  it('are in database 0, without a prefix, for as long as go-queue has them', async () => {
    await locks.close();
    const url = `${server.url}/3`;
    locks = new RedisGoQueueLocks(
      { ...new Redis(url, { lazyConnect: true, keyPrefix: 'app:' }).options },
      systemClock,
      () => {},
    );
    await locks.take(id, 'nest-dq:1');
    expect(await redis.get(id)).toBe('nest-dq:1');
    const left = await redis.pttl(id);
    expect(left).toBeLessThanOrEqual(3_600_500);
    expect(left).toBeGreaterThan(3_500_000);
  });

  it("know go-zero's script again after a restart of Redis: its clients call it by its hash, and never load it again", async () => {
    const known = async () =>
      (await redis.script('EXISTS', 'dbecad63894903ddf755d05d73a3eb7432ef75c0')) as number[];
    await eventually('it is loaded', async () => (await known())[0] === 1);
    await server.kill();
    await server.restart();
    await eventually('it is loaded again', async () => (await known().catch(() => [0]))[0] === 1);
    expect(warnings).toEqual([]);
  });

  it('report that Redis is away', async () => {
    expect(await locks.take(id, 'nest-dq:1')).toBe(true);
    await server.kill();
    try {
      await expect(locks.take(id, 'nest-dq:1')).rejects.toMatchObject({
        code: 'DQ_LEDGER_DOWN',
        message: expect.stringContaining("the Redis with go-queue's locks does not answer"),
      });
    } finally {
      await server.restart();
    }
    await eventually('it answers again', () => locks.take(id, 'nest-dq:1').catch(() => false));
  });
});
