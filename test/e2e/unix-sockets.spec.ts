import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ask, eventually, startBeanstalkd, type BeanstalkdServer } from 'test-servers';
import { expectOnceEach, record, schedule, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';

const suite = clusterSuite();
let nodes: BeanstalkdServer[];
beforeAll(async () => {
  nodes = await Promise.all([1, 2, 3].map(() => startBeanstalkd({ socket: true })));
}, 60_000);
afterAll(() => Promise.all(nodes.map((node) => node.stop())));

it('a cluster on sockets of the machine runs and revokes jobs, even while a node is killed and comes back', async () => {
  const system = suite.start({ beanstalks: nodes.map(({ endpoint }) => endpoint) });
  const allUp = () => eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
  await allUp();
  const starts: Start[] = [];
  await record(system, 'sockets', starts);
  const receipts = await schedule(system, 'sockets', 30, (i) => Date.now() + i * 30);
  const revoked = await schedule(system, 'sockets', 5, () => Date.now() + 3_600_000);
  await nodes[0]!.kill();
  await eventually('the node is away', () => !system.nodes[0]!.up);
  expect(system.log.join('\n')).toMatch(/unix:\/\S+ is down/);
  receipts.push(...(await schedule(system, 'sockets', 10, () => Date.now())));
  await nodes[0]!.restart();
  await allUp();
  for (const { ref } of revoked) expect(await system.producer.revoke(ref)).toBe('revoked');
  await eventually('all ran', () => starts.length >= receipts.length);
  expectOnceEach(starts, receipts);
  const isEmpty = async () =>
    (await Promise.all(nodes.map((node) => ask(node, 'stats-tube sockets')))).every(
      (stats) =>
        stats === 'NOT_FOUND' ||
        /current-jobs-ready: 0\ncurrent-jobs-reserved: 0\ncurrent-jobs-delayed: 0\n/.test(stats),
    );
  await eventually('no copy is left', isEmpty);
}, 60_000);
