import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { setup, setupUp } from '../../spec-support/cluster-node-setup.js';

afterEach(() => {
  jest.restoreAllMocks();
});

describe('ClusterNode: connecting', () => {
  it('dials when it is started or first needed, once', async () => {
    const { clock, server, node, told } = setup();
    await clock.advance(60_000);
    expect(server.dials).toEqual([]);
    expect(node.up).toBe(false);
    expect(node.writable).toBe(true);
    node.start();
    node.start();
    await clock.advance(0);
    expect(server.dials).toHaveLength(1);
    expect(told).toEqual(['up']);
    expect(node).toMatchObject({ up: true, writable: true, instance: server.instance, reason: 'up' });
  });

  it('is not up before the server answers, and gives it 5 s to read its binlog', async () => {
    const { clock, server, node, told, put, results } = setup();
    server.freeze();
    node.start();
    put();
    await clock.advance(499);
    expect(results).toEqual([]);
    await clock.advance(1);
    expect(results).toHaveLength(1);
    expect(results[0]!.failure!.doubtful).toBeUndefined();
    expect([node.up, node.writable]).toEqual([false, false]);
    await clock.advance(4_499);
    expect([server.dials.length, told.length]).toEqual([1, 0]);
    await clock.advance(1);
    expect(told).toHaveLength(1);
    expect(server.connections).toBe(0);
    server.thaw();
    await clock.advance(50);
    expect([server.dials.length, node.up, node.writable]).toEqual([2, true, true]);
  });

  it('comes up late, where the binlog was read in time', async () => {
    const { clock, server, node, told } = setup();
    server.freeze();
    node.start();
    await clock.advance(4_900);
    expect([node.up, told, server.connections]).toEqual([false, [], 1]);
    server.thaw();
    await clock.advance(0);
    expect([node.up, told, server.dials.length]).toEqual([true, ['up'], 1]);
  });

  it('reports once that it is down, however often it tries, and once that it is up again', async () => {
    const { clock, server, node, told } = setup();
    server.refusing = true;
    node.start();
    await clock.advance(30_000);
    expect(told).toEqual([expect.stringContaining('ECONNREFUSED')]);
    expect(node.reason).toContain('ECONNREFUSED');
    expect(node.writable).toBe(false);
    server.refusing = false;
    await clock.advance(2_000);
    expect(told.slice(1)).toEqual(['up']);
    server.refusing = true;
    server.cut();
    await clock.advance(30_000);
    expect(told.slice(2)).toEqual([expect.stringContaining('CONNECTION_LOST')]);
  });

  it('notifies nobody who stopped listening', async () => {
    const { clock, node, told, stop } = setup();
    stop();
    node.start();
    await clock.advance(0);
    expect([node.up, told]).toEqual([true, []]);
  });

  it.each([
    [0, [25, 50, 100, 200, 400, 800, 1_000, 1_000]],
    [1, [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]],
  ])('retries with growing backoff, up to half of which is random (%d)', async (chance, pauses) => {
    const { clock, server, node } = setup();
    jest.spyOn(Math, 'random').mockReturnValue(chance);
    server.refusing = true;
    node.start();
    await clock.advance(10_000);
    const between = server.dials.slice(1).map((at, i) => at - server.dials[i]!);
    expect(between.slice(0, pauses.length)).toEqual(pauses);
  });

  it('starts with short pauses again once it was up for two seconds', async () => {
    const { clock, server, node } = setup();
    jest.spyOn(Math, 'random').mockReturnValue(1);
    server.refusing = true;
    node.start();
    await clock.advance(10_000);
    server.refusing = false;
    await clock.advance(4_000);
    expect(node.up).toBe(true);
    server.cut();
    await clock.advance(0);
    const dials = server.dials.length;
    await clock.advance(50);
    expect(server.dials.length).toBe(dials + 1);
  });

  it('backs off where a server answers, and then ends each connection', async () => {
    const { clock, server, node } = setup();
    node.start();
    await clock.advance(0);
    for (let ms = 0; ms < 20_000; ms += 10) {
      if (node.up) server.cut();
      await clock.advance(10);
    }
    expect(server.dials.length).toBeLessThan(25);
    await clock.advance(5_000);
    expect(node.up).toBe(true);
    const before = server.dials.length;
    server.cut();
    await clock.advance(60);
    expect([server.dials.length, node.up]).toEqual([before + 1, true]);
  });

  it('is dialled at most every 50 ms, however many puts there are', async () => {
    const { clock, server, put, results } = setup();
    server.refusing = true;
    for (let ms = 0; ms < 1_000; ms++) {
      put();
      await clock.advance(1);
    }
    await clock.advance(500);
    expect(results).toHaveLength(1_000);
    const between = server.dials.slice(1).map((at, i) => at - server.dials[i]!);
    expect(Math.min(...between)).toBeGreaterThanOrEqual(25); // the first retry, with its chance
    expect(server.dials.length).toBeLessThan(45);
  });
});

describe('ClusterNode: health', () => {
  it.each([0, 1, 250, 499])(
    'finds within a second that the server is frozen, %d ms after it was up',
    async (ms) => {
      const { clock, server, node, told } = await setupUp();
      await clock.advance(3_000 + ms);
      server.freeze();
      await clock.advance(1_000);
      expect([node.up, node.writable]).toEqual([false, false]);
      expect(told).toEqual(['up', expect.stringContaining('no reply')]);
      await clock.advance(20_000);
      expect(told).toHaveLength(2);
      server.thaw();
      await clock.advance(8_000);
      expect(told.slice(2)).toEqual(['up']);
    },
  );

  it('keeps pinging a server that answers with an error', async () => {
    const { clock, server, node } = await setupUp();
    server.answers['stats'] = () => 'OUT_OF_MEMORY';
    await clock.advance(2_000);
    expect(node.up).toBe(true);
    server.freeze();
    await clock.advance(1_000);
    expect(node.up).toBe(false);
  });
});

describe('ClusterNode: lanes', () => {
  it('are opened only while it is up, with the limit of its bodies', async () => {
    const { clock, server, node } = setup();
    expect(node.connectLane(() => undefined)).toBeUndefined();
    server.answers['stats'] = () => server.ok('id: x\nmax-job-size: 1000');
    node.start();
    await clock.advance(0);
    const lane = node.connectLane(() => undefined)!;
    expect(lane.maxJobSize).toBe(1_000);
    expect(server.connections).toBe(2);
    lane.close();
  });
});

describe('ClusterNode: close', () => {
  it('leaves no timer and no connection while it is still connecting', async () => {
    const { clock, server, node, put, results, told } = setup();
    server.freeze();
    node.start();
    put();
    await clock.advance(10);
    expect(server.connections).toBe(1);
    node.close();
    expect(clock.timers.size).toBe(0);
    expect(results).toHaveLength(1);
    await clock.advance(60_000);
    expect([server.connections, server.dials.length, told]).toEqual([0, 1, []]);
  });

  it('leaves none while it is up, nor between two tries', async () => {
    for (const refusing of [true, false]) {
      const { clock, server, node } = setup();
      server.refusing = refusing;
      node.start();
      await clock.advance(0);
      expect(node.up).toBe(!refusing);
      node.close();
      node.close();
      expect(clock.timers.size).toBe(0);
      await clock.advance(60_000);
      expect([server.connections, server.dials.length, node.up]).toEqual([0, 1, false]);
    }
  });

  it('fails later calls at once', async () => {
    const { clock, server, node, put, results } = await setupUp();
    node.close();
    put();
    node.start();
    await clock.advance(0);
    expect(results).toHaveLength(1);
    expect(results[0]!.failure!.doubtful).toBeUndefined();
    expect(server.dials).toHaveLength(1);
  });
});
