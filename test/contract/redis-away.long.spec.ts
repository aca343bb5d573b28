// The ledger in Redis while the server is away, frozen or full, and when it is back.
import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { back, claim, DOWN, EACH_REDIS, open, realRedis, watch } from './real-redis.js';

describe.each(EACH_REDIS)('with %s', (_name, cluster) => {
  const at = realRedis({ cluster });

  it('reports that the server went, and that it came back, and works again', async () => {
    const tube = open(at.client).tube('killed');
    await expect(claim(tube, 'before')).resolves.toMatchObject([{ kind: 'run' }]);
    const events = watch(tube);
    await at.server.kill();
    await expect(claim(tube, 'meanwhile')).rejects.toMatchObject(DOWN);
    expect(tube.away).toBe(true);
    expect(events).toEqual([expect.stringMatching(/^away: ./)]);
    await at.server.restart();
    await back(tube);
    expect(events).toEqual([expect.stringMatching(/^away: ./), 'back']);
    await expect(claim(tube, 'after')).resolves.toMatchObject([{ kind: 'run' }]);
  }, 60_000);

  it('rejects calls of a frozen server, which is away until it resumes, and runs none of them late', async () => {
    const tube = open(at.client).tube('frozen');
    await expect(claim(tube, 'before')).resolves.toMatchObject([{ kind: 'run' }]);
    const events = watch(tube);
    at.server.freeze();
    const sent = tube.now();
    try {
      await expect(claim(tube, 'late')).rejects.toMatchObject(DOWN);
      expect(tube.now() - sent).toBeLessThan(5_000);
      expect(tube.away).toBe(true);
      await eventually('the call is past its latest acting time', () => tube.now() > sent + 1_100);
    } finally {
      at.server.thaw();
    }
    await back(tube);
    expect(events).toEqual([expect.stringMatching(/^away: ./), 'back']);
    await expect(claim(tube, 'late', 'b')).resolves.toMatchObject([{ kind: 'run', attempt: 1 }]);
  }, 60_000);

  it('keeps its time while the server is away', async () => {
    const tube = open(at.client).tube('time');
    await tube.readTime();
    await at.server.kill();
    try {
      await expect(tube.settle([{ id: 'job', generation: 0, mask: 1, unknown: false }])).rejects.toThrow();
      await expect(tube.readTime()).resolves.toBeUndefined();
      expect(Math.abs(tube.now() - Date.now())).toBeLessThan(1_000);
    } finally {
      await at.server.restart();
    }
    await back(tube);
  }, 60_000);

  it('connects to a server that was not there at the start', async () => {
    await at.server.kill();
    const tube = open(at.client).tube('absent');
    try {
      await expect(tube.readTime()).rejects.toMatchObject(DOWN);
      expect(tube.away).toBe(true);
      await expect(claim(tube, 'job')).rejects.toMatchObject(DOWN);
    } finally {
      await at.server.restart();
    }
    await back(tube);
    await expect(claim(tube, 'job')).resolves.toMatchObject([{ kind: 'run' }]);
  }, 60_000);

  it('is away while the server has no memory left, although it still answers with the time', async () => {
    const tube = open(at.client).tube('memory');
    await tube.readTime();
    const events = watch(tube);
    await at.inspect.config('SET', 'maxmemory', '1mb');
    try {
      const refused = await claim(tube, 'job').catch((error: unknown) => error);
      expect(refused).toMatchObject(DOWN);
      expect(String(refused)).toContain('OOM');
      const refusals = async () =>
        Number(/errorstat_OOM:count=(\d+)/.exec(await at.inspect.info('errorstats'))?.[1]);
      await eventually('it was asked again, and refused', async () => (await refusals()) >= 3);
      expect(events).toEqual([expect.stringContaining('OOM')]);
    } finally {
      await at.inspect.config('SET', 'maxmemory', '0');
    }
    await back(tube);
    await expect(claim(tube, 'job')).resolves.toMatchObject([{ kind: 'run', attempt: 1 }]);
  }, 60_000);

  it('stays away, and is asked in peace, while the server has memory for probes and not for calls', async () => {
    const tube = open(at.client).tube('short');
    await tube.readTime();
    const events = watch(tube);
    const requests = Array.from({ length: 5_000 }, (_, i) => ({
      id: `01ARZ3NDEKTSV4RRFFQ69G${String(i).padStart(4, '0')}`,
      generation: 1,
      due: 0,
      announced: 1,
      owed: { mask: 1, unknown: false },
    }));
    // As a consumer says what waits to be said.
    tube.listen({ away: () => undefined, back: () => void tube.abort(requests).catch(() => undefined) });
    const used = Number(/used_memory:(\d+)/.exec(await at.inspect.info('memory'))![1]);
    await at.inspect.config('SET', 'maxmemory', String(used + 100_000));
    try {
      await expect(tube.abort(requests)).rejects.toMatchObject(DOWN);
      const refusals = async () =>
        Number(/errorstat_OOM:count=(\d+)/.exec(await at.inspect.info('errorstats'))?.[1]);
      const first = await refusals();
      await eventually('it was asked again, and refused', async () => (await refusals()) >= first + 3);
      expect(events).toEqual([expect.stringContaining('OOM')]);
    } finally {
      await at.inspect.config('SET', 'maxmemory', '0');
    }
    await back(tube);
    // On a busy machine this may take longer than a call has; it's safe to repeat.
    await eventually('they are aborted', async () => {
      const answers = await tube.abort(requests).catch(() => undefined);
      return answers?.includes('aborted') === true;
    });
  }, 60_000);
});
