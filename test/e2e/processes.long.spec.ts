// The reports of a cluster's processes to each other, and their effects.
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from 'test-servers';
import { schedule } from '../support/jobs.js';
import { startProgram } from '../support/program.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

const suite = clusterSuite();

describe('a process that is killed', () => {
  it('is shown with what it runs, is gone 15 s after it was last heard, and another is elected', async () => {
    const redis = new Redis(suite.servers.redis.url);
    const tube = 'killed-process';
    const options = { ...optionsOf(suite.servers), advanced: { lease: 15_000 } };
    const { child, ended } = startProgram(
      'support/consumer-process.mjs',
      JSON.stringify({ tube, options }),
      () => undefined,
    );
    await eventually('it is elected', async () => (await redis.get('{:}::elected')) !== null);
    redis.disconnect();
    const others = [suite.start(), suite.start({ consume: false })];
    const [one, two] = others as [(typeof others)[0], (typeof others)[0]];
    const elected = () => others.filter(({ process }) => process.elected).length;
    const [receipt] = await schedule(one, tube, 1, () => Date.now());
    const seen = async () => (await one.inspector.processes()).find(({ pid }) => pid === child.pid);
    await eventually('it reports its long run', async () => {
      const [consumed] = (await seen())?.tubes ?? [];
      return consumed?.longRuns.some(({ id }) => id === receipt!.id) ?? false;
    });
    expect(await seen()).toMatchObject({
      elected: true,
      consumes: true,
      nodes: Object.fromEntries(optionsOf(suite.servers).beanstalks.map((endpoint) => [endpoint, true])),
      settings: { prefix: '', lease: 15_000, replicas: 3, minWritten: 2 },
      tubes: [{ tube, concurrency: 50, running: 1 }],
    });
    await eventually('all are seen', async () => (await two.inspector.processes()).length === 3);
    expect((await two.inspector.processes()).map(({ consumes }) => consumes).filter((does) => !does)).toEqual(
      [false],
    );
    expect(elected()).toBe(0);
    child.kill('SIGKILL');
    await ended;
    let last = await seen();
    await eventually('it is gone', async () => {
      expect(elected()).toBeLessThan(2);
      const now = await seen();
      last = now ?? last;
      return now === undefined;
    });
    // One look at Redis later, on a machine that may be slow.
    expect(Date.now() - last!.toldAt.getTime()).toBeLessThan(20_000);
    await eventually('another is elected', () => elected() === 1);
    const views = await one.inspector.processes();
    expect(views.filter(({ elected: is }) => is)).toHaveLength(1);
  }, 120_000);
});

describe('processes whose settings differ', () => {
  it('say so in the log and in their health, until there is only one of them', async () => {
    const one = suite.start();
    const other = suite.start({
      advanced: { lease: 3_000 },
      beanstalks: optionsOf(suite.servers).beanstalks.slice(1),
    });
    const unequal = async () => (await one.health.check()).dq.unequalSettings ?? [];
    await eventually('it is in the health', async () => (await unequal()).length === 2);
    expect(await unequal()).toEqual([
      expect.stringMatching(
        /^`lease` is 15000 ms in \S+:\d+ \(this process\), and 3000 ms in \S+:\d+: expected/,
      ),
      expect.stringMatching(/^`beanstalks` is /),
    ]);
    expect((await one.health.check()).dq.status).toBe('up');
    expect(one.log.filter((line) => line.includes('expected the same in all processes'))).toEqual(
      await unequal(),
    );
    // It learns of the first process by itself.
    await eventually('the other one tells it, too', async () => {
      const { unequalSettings = [] } = (await other.health.check()).dq;
      return unequalSettings.length === 2;
    });
    await other.stop();
    await eventually('they agree', async () => (await unequal()).length === 0);
  }, 60_000);
});

describe('a drained node', () => {
  it('gets no new copies of any process, and takes part in everything else', async () => {
    const [one, two] = [suite.start(), suite.start()];
    for (const { nodes } of [one, two]) await eventually('nodes are up', () => nodes.every(({ up }) => up));
    const { endpoint } = one.nodes[0]!;
    const copies = async () => {
      const view = (await two.inspector.nodes()).find((node) => node.endpoint === endpoint)!;
      return view.copies!.delayed;
    };
    await schedule(one, 'drained', 3, () => Date.now() + 3_600_000);
    const before = await copies();
    expect(before).toBeGreaterThanOrEqual(3);
    expect(await one.control.drainNode(endpoint)).toBe(true);
    await eventually('both know', () => [one, two].every(({ nodes }) => nodes[0]!.drained));
    expect((await one.inspector.nodes()).map(({ drained }) => drained)).toEqual([true, false, false]);
    await schedule(one, 'drained', 5, () => Date.now() + 3_600_000);
    await schedule(two, 'drained', 5, () => Date.now() + 3_600_000);
    expect(await copies()).toBe(before);
    expect(await two.control.undrainNode(endpoint)).toBe(true);
    await eventually('both know', () => [one, two].every(({ nodes }) => !nodes[0]!.drained));
    await schedule(two, 'drained', 1, () => Date.now() + 3_600_000);
    expect(await copies()).toBe(before + 1);
  }, 60_000);

  it('is known to a process that starts later', async () => {
    const one = suite.start();
    const { endpoint } = one.nodes[1]!;
    await one.control.drainNode(endpoint);
    const later = suite.start();
    await eventually('it knows', () => later.nodes[1]!.drained);
    await later.control.undrainNode(endpoint);
  }, 60_000);

  it('is used by adds that could not reach minWritten otherwise', async () => {
    const one = suite.start({ minWritten: 3 });
    await eventually('nodes are up', () => one.nodes.every(({ up }) => up));
    const { endpoint } = one.nodes[2]!;
    await one.control.drainNode(endpoint);
    await eventually('it knows', () => one.nodes[2]!.drained);
    // Each of the three nodes has confirmed a copy, or the add would have failed.
    await expect(schedule(one, 'needed', 1, () => Date.now() + 3_600_000)).resolves.toHaveLength(1);
    await one.control.undrainNode(endpoint);
  }, 60_000);
});

describe('the history', () => {
  it('shows what happened in all processes, including those that have ended', async () => {
    const tube = 'counted';
    const from = new Date();
    const [one, two] = [suite.start(), suite.start()];
    let runs = 0;
    await two.consumer.consume(
      tube,
      (payload) => {
        runs++;
        if (payload === 'fails') throw new Error('as asked');
      },
      { attempts: 1 },
    );
    for (const payload of ['runs', 'runs', 'fails']) await one.producer.now(tube, payload);
    await eventually('all ran', () => runs === 3);
    await eventually('all ended', async () => (await one.inspector.tube(tube)).dead === 1);
    await Promise.all([one.stop(), two.stop()]);
    const { inspector } = suite.start();
    const to = new Date();
    const numbers = async (name?: string) => {
      const buckets = await inspector.history({ from, to, ...(name !== undefined && { tube: name }) });
      const sum = (of: 'scheduled' | 'started' | 'completed' | 'failed' | 'dead') =>
        buckets.reduce((total, bucket) => total + bucket[of], 0);
      return [sum('scheduled'), sum('started'), sum('completed'), sum('failed'), sum('dead')];
    };
    expect(await numbers(tube)).toEqual([3, 3, 2, 1, 1]);
    const all = await numbers();
    expect(all.every((count, i) => count >= [3, 3, 2, 1, 1][i]!)).toBe(true);
    expect(await numbers('other')).toEqual([0, 0, 0, 0, 0]);
  }, 60_000);
});
