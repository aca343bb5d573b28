// Fingerprints that distinguish the keys of a seal from others of the same names, in one Redis and in a Redis Cluster.
import { describe, expect, it } from '@jest/globals';
import { EACH_REDIS, open, realRedis } from './real-redis.js';

const ONE = '1'.repeat(16);
const TWO = '2'.repeat(16);

describe.each(EACH_REDIS)('the fingerprints of keys in %s', (_kind, cluster) => {
  const at = realRedis({ cluster });
  const prints = (prefix: string) => open(cluster ? at.client : at.server.url, { prefix }).keyPrints;

  it('are those of the first process, name by name, for all processes of a prefix', async () => {
    const own = new Map([['a', ONE]]);
    await expect(prints('all.').peek(own)).resolves.toEqual(new Map());
    await expect(prints('all.').store(own)).resolves.toEqual(own);
    const others = new Map([
      ['a', TWO],
      ['b', TWO],
    ]);
    const stored = new Map([
      ['a', ONE],
      ['b', TWO],
    ]);
    await expect(prints('all.').store(others)).resolves.toEqual(stored);
    await expect(prints('all.').peek(others)).resolves.toEqual(stored);
    await expect(prints('other.').store(others)).resolves.toEqual(others);
    await expect(at.inspect.pttl('{all.:}::seal-keys')).resolves.toBe(-1);
  });

  it('are stored again after they were lost or overwritten', async () => {
    const own = new Map([['a', ONE]]);
    await prints('lost.').store(own);
    await at.inspect.hset('{lost.:}::seal-keys', 'a', 'nonsense');
    await expect(prints('lost.').peek(own)).resolves.toEqual(new Map());
    await expect(prints('lost.').store(new Map([['a', TWO]]))).resolves.toEqual(new Map([['a', TWO]]));
  });
});
