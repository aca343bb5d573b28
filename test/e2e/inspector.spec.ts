import { describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { Discard, DqModule, DqProducer } from 'nest-dq';
import { DqInspector } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

const suite = clusterSuite();

/** A process that reaches all nodes. */
async function started(): Promise<System> {
  const system = suite.start();
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
  return system;
}

describe('the inspector of a cluster', () => {
  it('shows each node, and says which is killed', async () => {
    const { inspector, nodes } = await started();
    const endpoints = suite.servers.beanstalkds.map(({ endpoint }) => endpoint);
    const all = await inspector.nodes();
    expect(all.map(({ endpoint, up, instance }) => [endpoint, up, instance])).toEqual(
      nodes.map(({ endpoint, instance }) => [endpoint, true, instance]),
    );
    expect(all[0]).toMatchObject({ version: expect.stringMatching(/^\d/), binlog: 'working' });
    await suite.servers.beanstalkds[0]!.kill();
    try {
      await eventually('it is seen', () => !nodes[0]!.up);
      const [first, ...others] = await inspector.nodes();
      expect(first).toEqual({
        endpoint: endpoints[0],
        up: false,
        reason: expect.any(String),
        since: expect.any(Date),
        drained: false,
      });
      expect(others.map(({ up }) => up)).toEqual([true, true]);
    } finally {
      await suite.servers.beanstalkds[0]!.restart();
    }
  }, 60_000);

  it('does not wait for a node that is frozen', async () => {
    const { inspector } = await started();
    const [frozen] = suite.servers.beanstalkds;
    frozen!.freeze();
    try {
      const [first, ...others] = await inspector.nodes();
      // It has a `since` once the node is known to be down.
      expect(first).toMatchObject({
        endpoint: frozen!.endpoint,
        up: false,
        reason: expect.any(String),
        drained: false,
      });
      expect(others.map(({ up }) => up)).toEqual([true, true]);
    } finally {
      frozen!.thaw();
    }
  }, 60_000);

  it('counts the jobs of a tube, and explains one, even while a node is killed or frozen', async () => {
    const { inspector, producer, consumer, nodes } = await started();
    const receipt = await producer.delay('late', {}, '1h');
    await producer.delay('late', {}, '1h');
    await eventually('both are listed', async () => (await inspector.tube('late')).listed === 2);
    expect((await inspector.tubes()).tubes).toContainEqual({
      tube: 'late',
      nodes: 3,
      waiting: 2,
      due: 0,
      running: 0,
      dead: 0,
      listed: 2,
      overdue: 0,
      retrying: 0,
      overdueFor: 0,
      watching: 0,
      consumers: 0,
      copies: { ready: 0, delayed: 6, reserved: 0, buried: 0 },
    });
    const states = async () => (await inspector.explain(receipt)).copies.map(({ state }) => state).sort();
    expect(await inspector.explain(receipt)).toMatchObject({ because: 'not-due', state: 'waiting' });
    expect(await states()).toEqual(['delayed', 'delayed', 'delayed']);
    const [first, second] = suite.servers.beanstalkds;
    await first!.kill();
    second!.freeze();
    try {
      await eventually('both are seen', () => !nodes[0]!.up && !nodes[1]!.up);
      expect(await states()).toEqual(['away', 'away', 'delayed']);
      const { tubes, away } = await inspector.tubes();
      expect(tubes.find(({ tube }) => tube === 'late')).toMatchObject({ nodes: 1, waiting: 2 });
      expect(away).toEqual([first!.endpoint, second!.endpoint]);
    } finally {
      second!.thaw();
      await first!.restart();
    }
    await eventually('all nodes are up', () => nodes.every(({ up }) => up));
    let end = (): void => undefined;
    await consumer.consume('late', () => new Promise<void>((resolve) => (end = resolve)));
    const runs = await producer.now('late', {});
    const because = async () => (await inspector.explain(runs)).because;
    await eventually('it runs', async () => (await because()) === 'running');
    const { watching, running } = await inspector.tube('late');
    expect([watching! > 0, running]).toEqual([true, 1]);
    await eventually('the process announces itself', async () => {
      return (await inspector.tube('late')).consumers === 1;
    });
    end();
    await eventually('it is done', async () => (await because()) === 'done');
  }, 60_000);

  it('groups the dead letters of all tubes by their errors, and an act selects one group', async () => {
    const { inspector, producer, consumer, control } = await started();
    const fail = ({ id }: { id: number }) => Discard.because(`order ${id} has no user`);
    await consumer.consume('paid', fail);
    await consumer.consume('sent', fail);
    await consumer.consume('lost', () => Discard.because('gone'));
    for (const [tube, id] of [
      ['paid', 1],
      ['sent', 22],
      ['sent', 333],
      ['lost', 4],
    ] as const)
      // oxfmt-ignore
      await producer.now(tube, { id });
    await eventually('all are dead', async () => (await inspector.deadGroups()).letters === 4);
    const { groups, more, away } = await inspector.deadGroups();
    expect({ more, away }).toEqual({ more: false, away: [] });
    expect(groups.map(({ group, letters, tubes }) => ({ group, letters, tubes }))).toEqual([
      {
        group: 'Discard: order … has no user',
        letters: 3,
        tubes: [
          { tube: 'sent', letters: 2 },
          { tube: 'paid', letters: 1 },
        ],
      },
      { group: 'Discard: gone', letters: 1, tubes: [{ tube: 'lost', letters: 1 }] },
    ]);
    const { group } = groups[0]!;
    for await (const { failed } of control.discardMany('sent', { group })) expect(failed).toBe(0);
    expect((await inspector.deadGroups()).groups).toMatchObject([
      { group: expect.any(String), letters: 1 },
      { group: expect.any(String), letters: 1 },
    ]);
  }, 60_000);

  it('shows the ledger, and why it is away', async () => {
    const proxy = await suite.redisProxy();
    const { inspector, nodes } = suite.start({ redis: `redis://${proxy.endpoint}` });
    await eventually('all nodes are up', () => nodes.every(({ up }) => up));
    const there = async () => (await inspector.ledger()).up;
    await eventually('it is up', there);
    expect(await inspector.ledger()).toEqual({
      kind: 'redis',
      up: true,
      clockAhead: expect.any(Number),
      servers: [
        {
          address: expect.stringContaining(':'),
          up: true,
          roundTrip: expect.any(Number),
          version: expect.stringMatching(/^\d/),
          role: 'master',
          memory: expect.any(Number),
          machineMemory: expect.any(Number),
          policy: 'noeviction',
          appendOnly: true,
        },
      ],
      problems: [],
    });
    proxy.cut();
    await eventually('it is away', async () => !(await there()));
    const { reason, servers } = await inspector.ledger();
    expect(reason).toEqual(expect.any(String));
    expect(servers).toEqual([{ address: expect.any(String), up: false, reason: expect.any(String) }]);
  }, 60_000);
});

it('the inspector of an embedded node shows that node and its ledger', async () => {
  const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };
  const imports = [DqModule.forRoot({ embedded: 'memory', logger: quiet })];
  const app = await Test.createTestingModule({ imports }).compile();
  await app.init();
  await app.get(DqProducer).delay('order.cancel', {}, '1h');
  const inspector = app.get(DqInspector);
  expect(await inspector.nodes()).toMatchObject([
    { endpoint: 'embedded', up: true, binlog: 'none', copies: { delayed: 1 } },
  ]);
  expect(await inspector.ledger()).toMatchObject({ kind: 'memory', up: true, servers: [], problems: [] });
  expect(await inspector.series()).toEqual([]);
  await app.close();
}, 60_000);
