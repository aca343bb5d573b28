// The identity that distinguishes a ledger from others, in one Redis and in a Redis Cluster.
import { describe, expect, it } from '@jest/globals';
import { EACH_REDIS, open, realRedis } from './real-redis.js';

const ONE = '1'.repeat(16);
const TWO = '2'.repeat(16);

describe.each(EACH_REDIS)('the identity of a ledger in %s', (_kind, cluster) => {
  const at = realRedis({ cluster });
  const ledger = (prefix: string) => open(cluster ? at.client : at.server.url, { prefix });

  it('is that of the first process, for all processes of a prefix', async () => {
    const first = ledger('all.');
    await expect(first.identity.peek()).resolves.toBeUndefined();
    await expect(first.identity.read(ONE)).resolves.toBe(ONE);
    const second = ledger('all.');
    await expect(second.identity.read(TWO)).resolves.toBe(ONE);
    await expect(second.identity.peek()).resolves.toBe(ONE);
    await expect(ledger('other.').identity.read(TWO)).resolves.toBe(TWO);
  });

  it('is stored again by whoever knows it, after it was lost or overwritten', async () => {
    const { identity } = ledger('lost.');
    await identity.read(ONE);
    await at.inspect.del('{lost.:}::ledger');
    await expect(identity.read(ONE)).resolves.toBe(ONE);
    await at.inspect.set('{lost.:}::ledger', 'nonsense');
    await expect(identity.peek()).resolves.toBeUndefined();
    await expect(identity.read(ONE)).resolves.toBe(ONE);
    await expect(at.inspect.pttl('{lost.:}::ledger')).resolves.toBe(-1);
  });

  it('fails with the reason where something else is stored in its place', async () => {
    const { identity } = ledger('list.');
    await at.inspect.zadd('{list.:}::ledger', 1, 'x');
    await expect(identity.read(ONE)).rejects.toMatchObject({
      code: 'DQ_LEDGER_DOWN',
      message: expect.stringContaining('WRONGTYPE'),
    });
  });
});
